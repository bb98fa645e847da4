"""NumPy arrays."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def array_attribute(trace: Trace, array: Value, name: str) -> Value: ...


@declared
def array_method(
    trace: Trace, array: Value, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value: ...


@declared
def array_operator(trace: Trace, name: str, *operands: Value) -> Value: ...


@declared
def array_setitem(trace: Trace, array: Value, key: Value, value: Value) -> Value: ...


@declared
def call_numpy(trace: Trace, real: object, args: list[Any], kwargs: dict[str, Any]) -> Value:
    """A function of NumPy as a node; None if it has nothing to do with arrays."""


@declared
def number_in(trace: Trace, array: Value) -> Value:
    """A scalar as a number of Python."""
