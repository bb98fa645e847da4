"""Checks on numbers: `if not (x > 0).all(): raise ...`, `assert ok`.

Where one side of a branch on a tensor only raises, the program is expected to go the other way:
the condition becomes a result of the graph, and the variant looks at it before it puts anything
back. If it is not as expected, the region runs from its start in the interpreter, and raises what
eager raises, where eager raises it. What the graph wrote to its inputs is taken back before; where
that is more than running statistics and the like, the branch stays a break.

In the same way a branch on what modules keep (whether a codebook is initialised, whether a range is
still empty) is expected to go as it goes now. The first time that it goes the other way it is
expected to stay there; after that it is a break.

Any other branch on data is a break at first. When it has gone the same way in several calls, the
plan says so, and it is expected to go that way again. If it does not, the region runs again as it
did before, through the break, so nothing may be in the graph that a second run would show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch.fx

from suture.breaks import Break, control_flow
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.graph import (
    is_repeatable,
    is_safe_after,
    standing_number,
    undoable,
    writes_after,
)
from suture.compiler.objects import Symbol, Tensor
from suture.compiler.outside.identity import owner_of
from suture.compiler.sources import Source
from suture.compiler.torch.subclasses import PLAIN
from suture.torch_private.tensor_parts import version_of


@dataclass(slots=True, eq=False)
class Check:
    """A condition that a graph computes, and what it is expected to be. `place` is the branch,
    `step` and `exit` say how to stop there instead. `stands`: it hangs on what modules keep;
    `learned`: it went so in earlier calls; `last` is the last node that was made before."""

    tensor: Tensor | Symbol
    expected: bool
    place: tuple[Any, int]
    step: int
    exit: Any
    last: torch.fx.Node
    stands: bool = False
    learned: bool = False
    version: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.tensor, Tensor):
            self.version = version_of(self.tensor.value)

    def is_overwritten(self) -> bool:
        """Whether the condition is not at the end of the region what it was at the branch."""
        if not isinstance(self.tensor, Tensor):
            return False
        if self.tensor.value.is_inference():  # no version is kept of those
            return writes_after(self.last)
        return version_of(self.tensor.value) != self.version


def expected_truth(trace: Trace, frame: Any, inst: Any, condition: Value) -> bool | None:
    """What a condition is expected to be, because the other side of its branch raises, or it
    hangs on what modules keep; None if nothing can be expected. `inst` jumps on true or on
    false."""
    if not isinstance(condition, (Tensor, Symbol)) or len(trace.graph.levels.stack) > 1:
        return None
    place = (frame.code.code, inst.index)
    if place in trace.region.plan.unexpected or not _hangs_on_data(trace, condition):
        return None
    jumped, fell = map(frame.code.only_raises, (inst.target, inst.index + 1))
    if jumped is fell:
        stands = standing_truth(trace, condition)
        return _learned_truth(trace, place, condition) if stands is None else stands
    expected = fell is (inst.op == "POP_JUMP_IF_TRUE")
    entry = control_flow.TENSOR_ASSERT if _is_assert(frame) else control_flow.TENSOR_BRANCH
    exit = abstract.exit_at(trace, Break(entry, tensor=condition.describe()))
    _expect(trace, condition, expected, place, exit)
    return expected


@implements(abstract.standing_truth)
def standing_truth(trace: Trace, condition: Any) -> bool | None:
    frame = trace.frames[-1]
    place = (frame.code.code, frame.ip)
    if trace.region.whole or len(trace.graph.levels.stack) > 1 or condition.node is None:
        return None
    if place in trace.region.plan.unexpected:
        return None
    now = standing_number(trace.graph, condition.node, lambda e: _is_kept(trace, e.source))
    if now is None:
        return None
    exit = abstract.exit_at(trace, Break(control_flow.TENSOR_BRANCH, tensor=condition.describe()))
    _expect(trace, condition, bool(now), place, exit, stands=True)
    return bool(now)


def _expect(
    trace: Trace, condition: Any, expected: bool, place: Any, exit: Any, **why: bool
) -> None:
    last = next(iter(reversed(trace.graph.graph.nodes)))
    trace.checks.append(Check(condition, expected, place, trace.progress.step, exit, last, **why))


def _learned_truth(trace: Trace, place: Any, condition: Any) -> bool | None:
    """What a branch is expected to do because it did so in earlier calls. A way of several truths
    is that of a whole call, so it counts from the start of the function only."""
    way = trace.region.plan.expected.get(place)
    if way is None or trace.region.whole or condition.node is None:
        return None
    if isinstance(condition, Tensor) and condition.cls not in PLAIN:
        return None
    number = trace.progress.decided.get(place, 0)
    if len(way) > 1:
        chain = trace.region.chain
        if number >= len(way) or len(chain) > 1 or chain[0].index > 0:
            return None
    expected = way[number if len(way) > 1 else 0]
    exit = abstract.exit_at(trace, Break(control_flow.TENSOR_BRANCH, tensor=condition.describe()))
    _expect(trace, condition, expected, place, exit, learned=True)
    trace.progress.decided[place] = number + 1
    return expected


def _is_kept(trace: Trace, source: Source | None) -> bool:
    if source is None or source.base is None:
        return False
    return abstract.is_fixed(trace, source.base) or owner_of(trace, source) is not None


def _hangs_on_data(trace: Trace, condition: Value) -> bool:
    """Whether only the running graph can tell if the condition holds."""
    if isinstance(condition, Tensor):
        return condition.value.numel() == 1 and abstract.known_number(trace, condition) is None
    try:
        abstract.symbol_truth(trace, condition)
    except Break:
        return True
    return False


def refused_check(trace: Trace) -> tuple[int, Any] | None:
    """How to stop at the first check, if what was captured cannot be run again should one of
    them fail."""
    if not trace.checks:
        return None
    changed = next((check for check in trace.checks if check.is_overwritten()), None)
    if changed is not None:
        return changed.step, changed.exit
    first = next((check for check in trace.checks if check.learned), None)
    if first is not None and not (is_repeatable(trace.graph) and is_safe_after(first.last)):
        return first.step, first.exit
    if undoable(trace.graph) is not None:
        return None
    first = first or trace.checks[0]
    return first.step, first.exit


def _is_assert(frame: Frame) -> bool:
    """Whether the branch belongs to an `assert`: the other side raises AssertionError."""
    return bool(frame.code.instructions[frame.ip + 1].op == "LOAD_ASSERTION_ERROR")


def is_tensor_assert(frame: Frame, condition: Any) -> bool:
    """Whether an `assert` asks for the truth of a tensor."""
    return isinstance(condition, Tensor) and _is_assert(frame)
