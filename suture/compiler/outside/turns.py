"""A region that began inside a loop and ends where it began, one turn later.

The break that ends it comes in each turn, and the next region begins at the same point. What is
there then is known already: what the turn has changed changes again, and an iterator that was
advanced stands elsewhere. A variant for exactly this turn would serve no other one.
"""

from __future__ import annotations

from typing import Any

from suture.bytecode import Code, Instruction
from suture.compiler.capture import Exit, Run
from suture.compiler.core import Trace
from suture.compiler.objects.real_iterators import Real
from suture.runtime.sources import Source

Changed = list[tuple[Source, Any]]  # what a slot of the state holds at the end


def next_turn(trace: Trace, exit: Exit) -> Changed:
    """What the slots of the region's point hold when the point is entered again, if it may be
    entered by this exit; else nothing."""
    region, frames = trace.region, trace.frames
    if region.whole or not isinstance(exit, Run) or len(frames) != len(region.chain):
        return []
    innermost = region.chain[0]
    if innermost.index not in _ways_on(frames[-1].code, exit.inst):
        return []
    found: Changed = []
    at = 0
    for depth, (spec, frame) in enumerate(zip(region.chain, reversed(frames))):
        if frame.code.code is not spec.code or (depth and frame.ip != spec.index):
            return []
        found += zip(region.slots[at + 1 :], (frame.locals[i] for i in spec.live))
        stack = region.slots[at + spec.stack_slot(0) :]
        kept = zip(stack, frame.stack[: spec.depth])  # what the exit does changes the top of it
        found += [(source, value) for source, value in kept if value.source is source]
        at += spec.size
    return found


def _ways_on(code: Code, inst: Instruction) -> set[int]:
    """Where the points are that an exit at this instruction leads to."""
    if inst.op == "COMPARE_TEST":  # the branch behind it is part of the exit
        inst = code.instructions[inst.index + 1]
    ways = (inst.index + 1, inst.target)
    return {code.past_jumps(index) for index in ways if index is not None}


def leave_iterators(trace: Trace, again: Changed) -> list[str]:
    """Tell the history that the loops on iterators that this turn has advanced are not unrolled;
    their paths."""
    moved = [s.path() for s, v in again if isinstance(v, Real) and v.moved and v.source is s]
    for path in moved:
        trace.region.history.is_run_as_loop(path)
    return moved
