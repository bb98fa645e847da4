"""Generators made in the region."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def advance_generator(trace: Trace, gen: Value, sent: Value) -> Value:
    """Run to the next yield; END when it returns."""


@declared
def generator_close(trace: Trace, gen: Value) -> Any: ...


@declared
def generator_send(trace: Trace, gen: Value, value: Value) -> Value: ...


@declared
def generator_throw(trace: Trace, gen: Value, args: list[Any]) -> Value: ...
