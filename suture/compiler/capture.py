"""The record a trace hands on: graph, guards, effects, live values, exit."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from suture.breaks import Break
from suture.bytecode import Instruction
from suture.compiler.effects import Effects
from suture.compiler.graph import GraphBuilder
from suture.compiler.guards.number_sources import NumberSource
from suture.runtime.guards import Guards
from suture.runtime.sources import Source


@dataclass(frozen=True, slots=True)
class Return:
    """The outermost frame returns `value`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Run:
    """Python runs instruction `inst` of the innermost frame; capture continues after it.

    `inside`: (code, index) of the frames, outermost first, of the call that this instruction makes
    and in which the break came up; nothing in such a call is compiled."""

    inst: Instruction
    operation: str
    reason: Break
    inside: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Interpret:
    """The frames continue in CPython's interpreter at the innermost frame's next instruction.

    `raises`: because that instruction raises and no frame handles it. Otherwise `reason` says why,
    and `inside` is where it came up, as in `Run`.
    """

    raises: bool
    reason: Break | None = None
    inside: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Yield:
    """The outermost frame is a generator's: CPython runs its instruction `inst`, which yields.
    Capture continues when the generator is resumed."""

    inst: Instruction
    reason: Break


@dataclass(frozen=True, slots=True)
class Again:
    """What the region has changed must be there before the innermost frame's next instruction:
    capture begins anew with that instruction."""

    reason: Break


Exit = Return | Run | Interpret | Yield | Again

# Hashes that are others in another process, the latter in each.
HASHES_OF_TEXTS, HASHES_OF_OBJECTS = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One traced region, as the trace found it. `frames` is the state at the exit, outermost
    first; a frame's stack is as it is before the instruction the exit names.

    graph, guards, effects  what was collected
    slots        the sources of the state's slots, in order
    modes        (setter, value) calls that bring torch's modes to their state at the exit
    functions    modes of torch functions: before the region, at the exit
    strictness   whether a break is an error, at the start and at the exit
    number_sources  where symbolic numbers are read (guards.NumberSource)
    checks       what is expected of data (Check)
    withheld     inputs of the graph that get a gradient only if one of some numbers is not 0
    draws        numbers that the variant draws (Draw)
    steps        instructions traced
    general      it fits states for which other variants were made
    initializes  it came to the first call of a lazy module
    first_step   it makes the state of an optimizer: it hardly runs a second time
    inlined      code objects of the calls that were traced through
    hashes       what was seen of hashes that other processes do not have
    """

    frames: list[Any]
    exit: Exit
    graph: GraphBuilder
    guards: Guards
    effects: Effects
    slots: list[Source]
    modes: list[Any]
    functions: tuple[Any, Any]
    strictness: Any
    number_sources: list[NumberSource]
    checks: list[Any]
    withheld: dict[Any, list[Any]]
    draws: list[Any]
    steps: int
    general: bool
    initializes: bool
    first_step: bool
    inlined: frozenset[CodeType]
    hashes: int

    @property
    def reason(self) -> Break | None:
        """The break that the region ends with, if it ends with one."""
        return None if isinstance(self.exit, Return) else self.exit.reason

    def drop_tracebacks(self) -> None:
        """Nothing is raised any more: what the tracebacks of the break hold is freed when nothing
        else uses it, and not only by the garbage collector. What the program itself is handling at
        this time is the context of all that was raised here, and stays as it is."""
        outside = sys.exception()
        waiting: list[BaseException | None] = [self.reason]
        while waiting:
            reason = waiting.pop()
            if reason is not None and reason is not outside and reason.__traceback__ is not None:
                reason.__traceback__ = None
                waiting += [reason.__cause__, reason.__context__]
