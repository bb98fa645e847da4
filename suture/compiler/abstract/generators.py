"""Generators made in the region."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def generator_close(trace: Trace, gen: Value) -> Any:
    """`gen.close()`: GeneratorExit is raised at its yield. Gives None as the program sees it."""


@declared
def generator_send(trace: Trace, gen: Value, value: Value) -> Value:
    """`gen.send(value)`: runs to the next yield; StopIteration in the program when it returns."""


@declared
def generator_throw(trace: Trace, gen: Value, args: list[Any]) -> Value:
    """`gen.throw(*args)`: raises at its yield, then as `generator_send`."""
