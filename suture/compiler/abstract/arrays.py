"""NumPy arrays."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def array_setitem(trace: Trace, array: Value, key: Value, value: Value) -> Value:
    """`array[key] = value` as a node; gives None as the program sees it. Break for arrays from
    outside, which may share memory."""


@declared
def call_numpy(trace: Trace, real: object, args: list[Any], kwargs: dict[str, Any]) -> Value:
    """A function of NumPy: its result as an array of the graph, or folded; None if it has nothing
    to do with arrays."""


@declared
def number_in(trace: Trace, array: Value) -> Value:
    """A scalar of NumPy as the number of Python that it holds."""
