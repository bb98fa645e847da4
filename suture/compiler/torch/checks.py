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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch.fx

from suture.breaks import Break, control_flow
from suture.bytecode import Instruction
from suture.bytecode.flow import successors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.graph import (
    current_number,
    is_repeatable,
    is_safe_after,
    undoable,
    writes_after,
)
from suture.compiler.graph.collectives import has_collectives
from suture.compiler.objects import Symbol, Tensor, tensor
from suture.compiler.outside.identity import owner_of
from suture.compiler.torch.optional_bodies import OptionalBody, truth_of_optional
from suture.compiler.torch.subclasses import PLAIN
from suture.compiler.torch.symbols import symbol_truth
from suture.runtime.sources import Source
from suture.torch_private.tensor_parts import version_of


@dataclass(slots=True, eq=False)
class Check:
    """A condition that a graph computes, and what it is expected to be. `position` is the branch,
    `step` and `exit` say how to stop there instead. `from_module_state`: it depends on module
    state alone; `learned`: it went so in earlier calls; `skips`: where it does not hold, a body ran
    on rows that the program skips; `last` is the last node that was made before."""

    tensor: Tensor | Symbol
    expected: bool
    position: tuple[Any, int]
    step: int
    exit: Any
    last: torch.fx.Node
    from_module_state: bool = False
    learned: bool = False
    skips: bool = False
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
    position = (frame.code.code, inst.index)
    if position in trace.region.plan.unexpected or not _is_data_dependent(trace, condition):
        return None
    jumped, fell = map(frame.code.only_raises, (inst.target, inst.index + 1))
    if jumped is fell:
        rows = truth_of_optional(trace, frame, inst, condition)
        if rows is not None:
            return rows
        current = current_truth(trace, condition)
        return _learned_truth(trace, position, condition) if current is None else current
    expected = fell is (inst.op == "POP_JUMP_IF_TRUE")
    asserts = frame.code.instructions[inst.index + 1].op == "LOAD_ASSERTION_ERROR"
    entry = control_flow.TENSOR_ASSERT if asserts else control_flow.TENSOR_BRANCH
    exit = abstract.exit_at(trace, Break(entry, tensor=condition.describe()))
    _expect(trace, condition, expected, position, exit)
    return expected


@implements(tensor.current_truth)
def current_truth(trace: Trace, condition: Any) -> bool | None:
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    if trace.region.whole or len(trace.graph.levels.stack) > 1 or condition.node is None:
        return None
    if position in trace.region.plan.unexpected:
        return None
    now = current_number(trace.graph, condition.node, lambda e: _is_module_state(trace, e.source))
    if now is None:
        return None
    exit = abstract.exit_at(trace, Break(control_flow.TENSOR_BRANCH, tensor=condition.describe()))
    _expect(trace, condition, bool(now), position, exit, from_module_state=True)
    return bool(now)


def _expect(
    trace: Trace, condition: Any, expected: bool, position: Any, exit: Any, **why: bool
) -> None:
    last = next(iter(reversed(trace.graph.graph.nodes)))
    trace.checks.append(
        Check(condition, expected, position, trace.progress.step, exit, last, **why)
    )


def _learned_truth(trace: Trace, position: Any, condition: Any) -> bool | None:
    """What a branch is expected to do because it did so in earlier calls. A way of several truths
    is that of a whole call, so it counts from the start of the function only."""
    way = trace.region.plan.expected.get(position)
    if way is None or trace.region.whole or condition.node is None:
        return None
    if isinstance(condition, Tensor) and condition.cls not in PLAIN:
        return None
    number = trace.progress.decided.get(position, 0)
    if len(way) > 1:
        chain = trace.region.chain
        if number >= len(way) or len(chain) > 1 or chain[0].index > 0:
            return None
    expected = way[number if len(way) > 1 else 0]
    if len(way) == 1 and number >= _MOST_TURNS and _goes_back(trace.frames[-1], expected):
        return None  # where the loop ended was known otherwise: it would be unrolled without end
    exit = abstract.exit_at(trace, Break(control_flow.TENSOR_BRANCH, tensor=condition.describe()))
    _expect(trace, condition, expected, position, exit, learned=True)
    trace.progress.decided[position] = number + 1
    return expected


_MOST_TURNS = 8


def _goes_back(frame: Frame, truth: bool) -> bool:
    """Whether the branch that a frame is at begins the next turn of its loop on that truth: it is
    at the end of the loop, or it is the test with which each turn begins."""
    instructions = frame.code.instructions
    inst = instructions[frame.ip]
    if inst.op == "COMPARE_TEST":  # whose truth the next one takes
        inst = instructions[inst.index + 1]
    assert inst.target is not None
    ways = (inst.target, inst.index + 1)
    at, other = ways if truth is (inst.op == "POP_JUMP_IF_TRUE") else reversed(ways)
    while at > inst.index and instructions[at].op == "JUMP":
        at = next(successors(instructions[at]))
    return at <= inst.index or _leaves_at_once(instructions, inst, other)


def _leaves_at_once(instructions: Sequence[Instruction], inst: Instruction, other: int) -> bool:
    """Whether the branch `inst` is the first one in each turn of the loop that it is in, and
    `other`, where it goes or not, is outside of that loop."""
    around = [
        (i.target, i.index)
        for i in instructions
        if i.target is not None and i.target <= inst.index <= i.index
    ]
    if not around:
        return False
    first, last = max(around)
    branches = any(i.target is not None for i in instructions[first : inst.index])
    return not branches and not first <= other <= last


def expect_learned(trace: Trace, condition: Any, position: Any, exit: Any) -> None:
    """Expect a condition to hold, as it did in earlier calls; `exit` is how to stop instead."""
    _expect(trace, condition, True, position, exit, learned=True)


def expect_no_rows(trace: Trace, condition: Any, body: OptionalBody) -> None:
    """Expect that a body had no rows where the program skips it, which `condition` says."""
    check = Check(condition, True, body.position, body.step, body.exit, body.last, skips=True)
    trace.checks.append(check)


def _is_module_state(trace: Trace, source: Source | None) -> bool:
    if source is None or source.base is None:
        return False
    return abstract.is_fixed(trace, source.base) or owner_of(trace, source) is not None


def _is_data_dependent(trace: Trace, condition: Any) -> bool:
    """Whether only the running graph can tell if the condition holds."""
    if isinstance(condition, Tensor):
        return condition.value.numel() == 1 and abstract.known_number(trace, condition) is None
    try:
        symbol_truth(trace, condition)
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
    if has_collectives(trace.graph.graph, trace.graph.attributes):
        # Other ranks take part in a collective once, and only in those that the program comes to.
        return trace.checks[0].step, trace.checks[0].exit
    first = next((check for check in trace.checks if check.learned or check.skips), None)
    if first is not None and not (is_repeatable(trace.graph) and is_safe_after(first.last)):
        return first.step, first.exit
    if undoable(trace.graph) is not None:
        return None
    first = first or trace.checks[0]
    return first.step, first.exit


def truth_at_branch(trace: Trace, frame: Frame, inst: Instruction, condition: Value) -> bool:
    """What a branch of `frame` decides by: the truth that is known or expected of its condition.
    `inst` is the branch."""
    truth = expected_truth(trace, frame, inst, condition)
    if truth is not None:
        return truth
    after = frame.code.instructions[inst.index + 1].op
    asserts = inst.op == "POP_JUMP_IF_TRUE" and after == "LOAD_ASSERTION_ERROR"
    if asserts and isinstance(condition, Tensor):
        raise Break(control_flow.TENSOR_ASSERT, tensor=condition.describe())
    return abstract.truth(trace, condition)
