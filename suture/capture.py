"""The record the tracer hands on: graph, guards, effects, live values, exit."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from suture.breaks import Break
from suture.bytecode import Instruction


@dataclass(slots=True)
class Return:
    """The outermost frame returns `value`."""

    value: Any


@dataclass(slots=True)
class Run:
    """Python runs instruction `inst` of the innermost frame; capture goes on behind it.

    `inside`: (code, index) of the frames, outermost first, of the call that this instruction makes
    and in which the break came up; nothing in such a call is compiled."""

    inst: Instruction
    operation: str
    reason: Break
    inside: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Interpret:
    """The frames go on in CPython's interpreter at the innermost frame's next instruction.

    `raises`: because that instruction raises and no frame handles it. Otherwise `reason` says why,
    and `inside` is where it came up, as in `Run`.
    """

    raises: bool
    reason: Break | None = None
    inside: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Yield:
    """The outermost frame is a generator's: CPython runs its instruction `inst`, which yields.
    Capture goes on when the generator is resumed."""

    inst: Instruction
    reason: Break


@dataclass(slots=True)
class Again:
    """What the region has changed must be there before the innermost frame's next instruction:
    capture begins anew with that instruction."""

    reason: Break


Exit = Return | Run | Interpret | Yield | Again


@dataclass(slots=True)
class Capture:
    """One traced region. `frames` is the state at the exit, outermost first; a frame's stack is
    as it is before the instruction the exit names."""

    frames: list[Any]
    exit: Exit
    graph: Any
    guards: Any
    effects: Any
    slots: list[Any]  # the sources of the state's slots, in order
    modes: list[Any]  # (setter, value) calls that bring torch's modes to their state at the exit
    lines: tuple[int, int] | None = None
    steps: int = 0
    places: list[Any] = field(default_factory=list)  # of symbolic numbers: guards.shapes.Place
    strictness: Any = None  # whether a break is an error, at the start and at the exit
    checks: list[Any] = field(default_factory=list)  # Check: what is expected
    functions: Any = ((), ())  # modes of torch functions: before the region, at the exit
    draws: list[Any] = field(default_factory=list)  # Draw: numbers for the variant
    general: bool = False  # it fits states for which other variants were made
    tracer: Any = None  # who made it

    def forget(self) -> None:
        """The tracer is not needed any more: what was captured, and the values it holds, go when
        nobody uses them, and not only when a garbage collector comes by. What the program itself
        is handling at this time is the context of all that was raised here, and stays as it is."""
        if self.tracer is not None:
            self.tracer.__dict__.clear()
            self.tracer = None
        outside = sys.exception()
        reason = getattr(self.exit, "reason", None)
        while reason is not None and reason is not outside and reason.__traceback__ is not None:
            reason.__traceback__ = None
            reason = reason.__cause__ or reason.__context__
