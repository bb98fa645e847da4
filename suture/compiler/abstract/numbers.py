"""Numbers that are symbols."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def compare_drawn(trace: Trace, symbol: str, left: Value, right: object) -> Value | None:
    """Comparing a number that will be drawn with a constant: the outcome, if it can have only
    one; else None."""


@declared
def computed_number(trace: Trace, real: object, args: list[Value]) -> Value | None:
    """What a pure function makes of floats that change: a number of its own, which the variant
    computes at each call, or a truth that is guarded. None if it is something else."""


@declared
def is_among(trace: Trace, number: Value, container: Value) -> Value | None:
    """Whether a container holds a number that is a symbol, decided at once: the numbers in it are
    known, and nothing is asked of its members. None: they are compared one by one."""


@declared
def specialise(trace: Trace, symbol: Value) -> Any:
    """The value of a symbol, guarded to stay that; Break if it comes from data, or if too many
    values have been guarded here, as in a loop that numbers its results."""
