"""Checks on numbers: `if not (x > 0).all(): raise ...`, `assert ok`.

Where one side of a branch on a tensor only raises, the program is expected to go the other way:
the condition becomes a result of the graph, and the variant looks at it before it puts anything
back. If it is not as expected, the region runs from its start in the interpreter, and raises what
eager raises, where eager raises it. What the graph wrote to its inputs is taken back before; where
that is more than running statistics and the like, the branch stays a break.

In the same way a branch on what modules keep (whether a codebook is initialised, whether a range is
still empty) is expected to go as it goes now. The first time that it goes the other way it is
expected to stay there; after that it is a break.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from suture.breaks import Break, control_flow
from suture.bytecode import Instruction
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.graph import current_number, undoable
from suture.compiler.objects import Symbol, Tensor
from suture.compiler.outside.identity import owner_of
from suture.runtime.sources import Source


@dataclass(slots=True, eq=False)
class Check:
    """A condition that a graph computes, and what it is expected to be. `position` is the branch,
    `step` and `exit` say how to stop there instead. `from_module_state`: it depends on module
    state alone."""

    tensor: Tensor | Symbol
    expected: bool
    position: tuple[Any, int]
    step: int
    exit: Any
    from_module_state: bool = False

    @property
    def uses_cuda(self) -> bool:
        """Whether the graph around the check may draw from the generators of GPUs."""
        value = self.tensor.value
        return isinstance(value, torch.Tensor) and value.device.type == "cuda"


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
        return current_truth(trace, condition)
    expected = fell is (inst.op == "POP_JUMP_IF_TRUE")
    asserts = frame.code.instructions[inst.index + 1].op == "LOAD_ASSERTION_ERROR"
    entry = control_flow.TENSOR_ASSERT if asserts else control_flow.TENSOR_BRANCH
    exit = abstract.exit_at(trace, Break(entry, tensor=condition.describe()))
    trace.checks.append(Check(condition, expected, position, trace.progress.step, exit))
    return expected


@implements(abstract.current_truth)
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
    trace.checks.append(Check(condition, bool(now), position, trace.progress.step, exit, True))
    return bool(now)


def _is_module_state(trace: Trace, source: Source | None) -> bool:
    if source is None or source.base is None:
        return False
    return abstract.is_fixed(trace, source.base) or owner_of(trace, source) is not None


def _is_data_dependent(trace: Trace, condition: Value) -> bool:
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
    if not trace.checks or undoable(trace.graph) is not None:
        return None
    return trace.checks[0].step, trace.checks[0].exit


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
