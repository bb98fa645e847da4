"""Frames that run symbolically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break
from suture.bytecode import Code
from suture.compiler.abstract.declare import declared
from suture.compiler.capture import Exit
from suture.compiler.core import Frame, Pending, Trace, Value


@declared
def exit_at(trace: Trace, reason: Break) -> Exit:
    """Leave before the instruction that runs now: Python runs it."""


@declared
def finish(trace: Trace, result: Value) -> Value:
    """The value of a call: runs a pending frame to its end."""


@declared
def loop(trace: Trace, base_depth: int) -> Any:
    """Run frames until the one above `base_depth` has returned; gives its value."""


@declared
def new_frame(trace: Trace, code: Code, fn: Callable[..., Any], slots: list[Any]) -> Frame:
    """A frame of the function value `fn` with these locals, which handles what its caller handles;
    it does not run yet."""


@declared
def pending(trace: Trace, frame: Frame) -> Pending:
    """The result of a call whose frame has to run first."""


@declared
def unwind(trace: Trace, exc: Value, base_depth: int) -> bool:
    """Find the handler of an exception; frames without one are left. False if there is none
    above `base_depth`."""
