"""`if idx.numel() == 0: continue`: a body that the program skips where there are no rows.

Nobody can tell such a body that ran on no rows from one that was skipped, if all it does is to
compute from these rows and to write at their places. Then the branch decides nothing: the body is
traced, and goes into the graph as if the branch were not there.

Whether it is so is seen where the two ways meet again: what the program has there must be what it
had at the branch, nothing of what was there before may have changed, and every operation in between
must be one that does nothing where the number of rows is 0 (`graph/no_rows.py`). Else the region is
traced again, and the branch is one like others.

Where the condition is not that number but says the same in other words (`if not mask.any()`, a row
of `mask.nonzero()`), the body is expected to have no rows where the program skips it: a check.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from suture.breaks import Break
from suture.bytecode import CANONICAL, Instruction
from suture.bytecode.flow import successors
from suture.compiler import abstract
from suture.compiler.core import Frame, Lazy, Mutable, Trace, Value
from suture.compiler.graph.no_rows import (
    NoRows,
    does_nothing_after,
    is_like,
    leaves_history_after,
    rows_of,
    shows_memory,
    sizes_made_after,
    updates_of,
)
from suture.compiler.language.dropped import holds_finalized
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.compiler.torch.symbols import symbol_to_bool, symbol_truth
from suture.torch_private import autograd_parts
from suture.torch_private.symbolic_shapes import (
    OfData,
    numbers_from_data,
    truth_above,
    truth_without,
)


class OptionalBody:
    """What a body that may be skipped found at its start, with `stack` on the stack of its frame.
    `join` is the instruction of `frame` at which both ways meet; it is skipped where `condition` is
    not `truth`; `size` is the symbol that is known to be 0 there, None if it is not known which one
    is. `position` is the branch, `step` and `exit` say how to stop there instead. Its nodes are
    those behind `last`, up to `end`; `rows` is one with a row for each of `size`. `updates`: nodes
    that give a tensor anew, as `out = out.index_add(0, idx, y)` does, and the node that gave it
    before."""

    def __init__(
        self, trace: Trace, join: int, stack: list[Any], condition: Any, truth: bool, exit: Any
    ) -> None:
        self.frame = trace.frames[-1]
        self.join = join
        self.condition = condition
        self.truth = truth
        self.size: Any = None
        self.position = (self.frame.code.code, self.frame.ip)
        self.step = trace.progress.step
        self.exit = exit
        self.last = _last_node(trace)
        self.end = self.last
        self.rows: Any = None
        self.updates: dict[Any, Any] = {}
        self.locals = list(self.frame.locals)
        self.stack = stack
        self.began = Mutable.births
        self.changed = len(trace.effects.log)
        self.counts = _counts(trace)
        self.of_data = OfData(trace.graph.shape_env)

    def forget(self) -> None:
        """The body has ended: what was there at its start is not needed any more."""
        self.locals, self.stack = [], []


def _counts(trace: Trace) -> tuple[Any, ...]:
    """How much there is of what a body must not add to."""
    return (
        len(trace.frames),
        len(trace.effects.calls),
        len(trace.effects.globals),
        len(trace.effects.passed),
        len(trace.effects.unfinished),
        len(trace.numbers.draws),
        len(trace.numbers.arrays_written),
        len(trace.handling.waiting),
        len(trace.checks),
        len(trace.copied),
    )


# ---- where it begins


def truth_of_optional(trace: Trace, frame: Frame, inst: Instruction, condition: Any) -> bool | None:
    """The truth that leads into the body of a branch, if the program may skip that body, and the
    condition may say that there are rows or that there are none; None for other branches."""
    decides = (frame.code.code, inst.index) in trace.region.plan.decisive
    if decides or not may_run_on_nothing(trace):
        return None
    if isinstance(condition, Tensor):
        return _truth_of_tensor(trace, frame, inst, condition)
    if condition.python_type() is float:
        return None
    value = getattr(symbol_to_bool(trace, condition), "value", None)
    if not isinstance(value, torch.SymBool):
        return None
    above = tuple(body.size for body in trace.optional if body.size is not None)
    known = truth_above(value, above) if above else None
    if known is not None:
        return known
    sizes = numbers_from_data(value)
    empty = truth_without(value, sizes[0], above) if len(sizes) == 1 else None
    join = None if empty is None else _meeting(frame, inst, empty)
    if empty is None or join is None or _is_open(trace, frame, join):
        return None
    try:
        symbol_truth(trace, condition)
    except Break as reason:
        exit = exit_for(trace, reason)
        body = OptionalBody(trace, join, _stack_behind(frame), condition, not empty, exit)
        body.position = (frame.code.code, inst.index)
        body.size = sizes[0]
        begin_body(trace, body)
        return not empty
    return None


def _truth_of_tensor(
    trace: Trace, frame: Frame, inst: Instruction, condition: Tensor
) -> bool | None:
    """The same for a condition that is a tensor: in a loop, where one of its sides is empty."""
    if (
        trace.region.whole
        or condition.cls is not torch.Tensor
        or not frame.code.in_loop(inst.index)
    ):
        return None
    joins = {truth: _meeting(frame, inst, not truth) for truth in (True, False)}
    leading = [truth for truth, join in joins.items() if join is not None]
    if len(leading) != 1 or _is_open(trace, frame, joins[leading[0]]):
        return None
    try:
        abstract.truth(trace, condition)
    except Break as reason:
        exit = exit_for(trace, reason)
        join, stack = joins[leading[0]], _stack_behind(frame)
        assert join is not None
        body = OptionalBody(trace, join, stack, condition, leading[0], exit)
        body.position = (frame.code.code, inst.index)
        begin_body(trace, body)
        return leading[0]
    return None


def _stack_behind(frame: Frame) -> list[Any]:
    """The stack as it is behind a branch. The branch is under way, or the comparison before it,
    which decides a branch on a tensor: from Python 3.13 on it takes the truth itself."""
    under_way = frame.code.instructions[frame.ip]
    pops, _ = CANONICAL[under_way.op].counts(under_way)
    return frame.stack[: len(frame.stack) - pops]


def begin_body(trace: Trace, body: OptionalBody) -> None:
    """The body is under way from here on."""
    trace.optional.append(body)
    trace.progress.bodies += 1


def may_run_on_nothing(trace: Trace, count: int = 1) -> bool:
    """Whether running operations on no rows could go unseen at all, and `count` more bodies may be
    taken in. Operations that torch refuses to run show what ran, and objects that a body may let go
    of at whose end something happens."""
    if trace.progress.bodies + count > trace.progress.most_bodies:
        return False
    if len(trace.graph.levels.stack) > 1 or torch.are_deterministic_algorithms_enabled():
        return False
    return not (holds_finalized(trace) or trace.finalized.in_containers or trace.handling.waiting)


def exit_for(trace: Trace, reason: Break) -> Any:
    """How the region ends here for that reason. The exit has a break of its own: that one's
    traceback would keep the trace, and with it what the program has dropped."""
    return abstract.exit_at(trace, Break(reason.type, **reason.fields))


def _is_open(trace: Trace, frame: Frame, join: int | None) -> bool:
    """Whether a body of a frame that ends there is under way: a loop turns in it."""
    return any(body.frame is frame and body.join == join for body in trace.optional)


def _meeting(frame: Frame, inst: Instruction, skipped: bool) -> int | None:
    """Where the way that skips a body, on the truth `skipped`, meets the one through it: the first
    thing that is done on the way that skips; None if the body does not lead there."""
    instructions = frame.code.instructions
    assert inst.target is not None
    ways = [inst.target, inst.index + 1]
    skips, begins = ways if skipped is (inst.op == "POP_JUMP_IF_TRUE") else reversed(ways)
    while instructions[skips].op == "JUMP":
        skips = next(successors(instructions[skips]))
    work, seen = [begins], {inst.index}
    while work:
        at = work.pop()
        if at == skips:
            return skips
        if at not in seen:
            seen.add(at)
            work += successors(instructions[at])
    return None


# ---- where it ends


def idle_where(trace: Trace, body: OptionalBody) -> Value | None:
    """The condition under which nobody can tell that a body, which has come to its end, ran instead
    of being skipped: a constant if it is always so, None if it may never be so."""
    frame = body.frame
    if _counts(trace) != body.counts or len(frame.stack) != len(body.stack):
        return None
    if not all(map(_is_same, body.stack, frame.stack)):
        return None
    live = frame.code.live(body.join)
    renewed = [s for s in live if not _is_same(body.locals[s], frame.locals[s])]
    if any(born <= body.began for born in trace.effects.log[body.changed :]):
        return None
    body.end = _last_node(trace)
    if leaves_history_after(body.last) and not _may_leave_history(trace, body):
        return None
    if body.size is not None and _needs(trace, body, body.size, renewed):
        body.rows = rows_of([body.size], trace.graph.graph.nodes).get(body.size)
        return Constant(True)
    if trace.region.whole:
        return None
    made = sizes_made_after(body.last)
    body.size = next((size for size in made if _needs(trace, body, size, renewed)), None)
    body.rows = made.get(body.size)
    return None if body.size is None else _agrees(trace, body, body.rows)


def _may_leave_history(trace: Trace, body: OptionalBody) -> bool:
    """Whether a body may compute what autograd keeps a history of, and note that it does. Nobody
    else may see the engine run."""
    if trace.optional != [body] or trace.modes.transforms or trace.modes.function_modes:
        return False
    groups = autograd_parts.process_groups
    if groups and getattr(groups, autograd_parts.DEFAULT_GROUP, None) is not None:
        return False
    trace.bodies.append(body)
    return True


def _last_node(trace: Trace) -> Any:
    return next(iter(reversed(trace.graph.graph.nodes)))


def _needs(trace: Trace, body: OptionalBody, size: Any, renewed: list[int]) -> bool:
    """Whether a body does nothing where the symbol `size` is 0, but to give the variables in the
    slots `renewed` a tensor like the one that they had."""
    none = NoRows(trace.graph.graph, size)
    taken = body.of_data.holds_without(trace.graph.shape_env, none.zeros)
    if not taken or not does_nothing_after(body.last, none):
        return False
    updates = [_update(trace, body, slot, none) for slot in renewed]
    body.updates = {new: old for one in updates if one is not None for new, old in one.items()}
    return None not in updates


def _update(trace: Trace, body: OptionalBody, slot: int, none: NoRows) -> dict[Any, Any] | None:
    """The nodes that give the tensor in a slot anew, each with the one before, where there are no
    rows: a copy of what it was. Nobody else may have the tensor, or see its memory: a copy is
    another object. None if it is not so."""
    new: Any = body.frame.locals[slot]
    held = body.locals.count(body.locals[slot]) + body.stack.count(body.locals[slot])
    if sys.getrefcount(body.locals[slot]) != held + 1:
        return None
    old: Any = body.locals[slot]
    if not _is_own(old) or not _is_own(new) or not is_like(old.value, new.value):
        return None
    if shows_memory(trace.graph.graph, old.node):
        return None
    return updates_of(new.node, old.node, body.last, none)


def _is_own(value: Any) -> bool:
    """Whether a value is a tensor that the region has made, and nothing else."""
    plain = type(value) is Tensor and value.cls is torch.Tensor
    return plain and value.source is None and value.node is not None and not value.attrs


def _agrees(trace: Trace, body: OptionalBody, node: Any) -> Value:
    """The condition that a body was to run or had no rows; `node` is a tensor with a row for each
    of them."""
    rows = abstract.from_value(trace, node, node.meta["example_value"])
    count = abstract.tensor_length(trace, rows)
    none = abstract.compare(trace, "==", count, Constant(0))
    if isinstance(body.condition, Symbol):
        goes = symbol_to_bool(trace, body.condition)
        goes = goes if body.truth else abstract.negate(trace, goes)
        return abstract.binary(trace, "or_", goes, none)
    device: dict[str, Value] = {"device": Constant(body.condition.value.device)}
    number = abstract.call_torch(trace, torch.scalar_tensor, [count], device)
    empty = abstract.call_torch(trace, torch.eq, [number, Constant(0)], {})
    test = torch.ne if body.truth else torch.eq
    goes = abstract.call_torch(trace, test, [body.condition, Constant(0)], {})
    goes = abstract.call_torch(trace, torch.reshape, [goes, abstract.wrap(trace, (), None)], {})
    return abstract.call_torch(trace, torch.logical_or, [goes, empty], {})


def _is_same(old: Any, new: Any) -> bool:
    """Whether a variable has what it had. What was looked at meanwhile is a value now."""
    if type(old) is Lazy and new is not None and old.source is not None:
        return new.source is old.source
    return old is new
