"""`for i in mask.nonzero():`, as loops over the experts that have work are written.

How many rows there are, and which, only the data say, so that iteration is a break at first. What
it went over is told as a branch is: for each number of the mask whether it was in. Where that was
the same in earlier calls it is expected again: the loop is unrolled over rows that are known, and
one condition, on the mask, is a result of the graph.

Where the body of the loop takes tokens by another mask, and has none for a row that is not in,
all rows may be gone through: for those the body does nothing.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from suture.breaks import Break, control_flow
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.graph.known_numbers import make_known
from suture.compiler.graph.repeats import writes_after
from suture.compiler.objects import END, Constant, List, ListIterator, Tensor
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.torch.checks import expect_learned
from suture.compiler.torch.optional_bodies import (
    OptionalBody,
    begin_body,
    exit_for,
    may_run_on_nothing,
)
from suture.op_effects import operation_name
from suture.torch_private import symbolic_shapes

_MOST = 64  # numbers of a mask


def mask_of(tensor: Any) -> torch.fx.Node | None:
    """The mask, of a known number of numbers, whose nonzero() a tensor is; None for others."""
    node = tensor.node if type(tensor) is Tensor and tensor.source is None else None
    if node is None or node.op not in ("call_function", "call_method"):
        return None
    name = operation_name(node)
    plain = name == "nonzero" and len(node.args) == 1 and not node.kwargs.get("as_tuple")
    mask = node.args[0] if plain else None
    if not isinstance(mask, torch.fx.Node):
        return None
    value = mask.meta.get("example_value")
    if not isinstance(value, torch.Tensor) or value.dim() != 1 or type(value.shape[0]) is not int:
        return None
    return mask if value.shape[0] <= _MOST else None


def expected_rows(trace: Trace, tensor: Tensor) -> list[Any] | None:
    """The rows of `mask.nonzero()` that are expected because they were the same in earlier calls;
    None if nothing is expected. From here on the tensor consists of these rows."""
    frame = trace.frames[-1]
    mask = mask_of(tensor)
    if mask is None or frame.code.instructions[frame.ip].op != "GET_ITER":
        return None
    if tensor.node.users or writes_after(tensor.node):
        return None  # somebody knows the tensor as it was made, or the mask is another one now
    position = (frame.code.code, frame.ip)
    truths = _expected(trace, position, mask.meta["example_value"].shape[0])
    if truths is None:
        return None
    reason = Break(control_flow.TENSOR_BRANCH, tensor=tensor.describe())
    given = abstract.from_value(trace, mask, mask.meta["example_value"])
    expect_learned(trace, _holds(trace, given, truths), position, abstract.exit_at(trace, reason))
    return _become(trace, tensor, [i for i, truth in enumerate(truths) if truth])


def _expected(trace: Trace, position: Any, count: int) -> list[bool] | None:
    """Which numbers of a mask are expected to be in. A way of several truths is that of a whole
    call, so it counts from the start of the function only."""
    way = trace.region.plan.expected.get(position)
    if way is None or position in trace.region.plan.unexpected or trace.region.whole:
        return None
    if len(trace.graph.levels.stack) > 1:
        return None
    if len(way) == 1:
        return [way[0]] * count
    start = trace.progress.decided.get(position, 0)
    chain = trace.region.chain
    if start + count > len(way) or len(chain) > 1 or chain[0].index > 0:
        return None
    trace.progress.decided[position] = start + count
    return list(way[start : start + count])


def _holds(trace: Trace, mask: Any, truths: list[bool]) -> Any:
    """The condition that just these numbers of a mask are not zero."""
    found = abstract.call_torch(trace, torch.ne, [mask, Constant(0)], {})
    if not all(truths):
        device: dict[str, Value] = {"device": Constant(mask.value.device)}
        listed = List([Constant(truth) for truth in truths])
        wanted = abstract.call_torch(trace, torch.tensor, [listed], device)
        found = abstract.call_torch(trace, torch.eq, [found, wanted], {})
    return abstract.call_torch(trace, torch.all, [found], {})


def _become(trace: Trace, tensor: Tensor, numbers: list[int]) -> list[Any]:
    """Let a tensor be that of these indices, and give its rows, whose numbers are known."""
    made, rows = _known_rows(trace, tensor.value.device, numbers)
    tensor.node, tensor.value = made.node, made.value
    return rows


def _known_rows(trace: Trace, device: torch.device, numbers: list[int]) -> tuple[Tensor, list[Any]]:
    """A tensor of these indices, laid out as by nonzero(), and its rows, which are known."""
    options: dict[str, Value] = {"device": Constant(device), "dtype": Constant(torch.int64)}
    listed = List([List([Constant(i) for i in numbers])])
    flat = abstract.call_torch(trace, torch.tensor, [listed], options)
    made = known_tensor(abstract.add_node(trace, "call_method", "t", [flat], {}))
    rows = abstract.tensor_rows(trace, made)
    for row, number in zip(rows, numbers):
        make_known(trace.graph.fake, row.value, torch.tensor([number], device=device))
    return made, rows


# ---- rows that need not be there


class OptionalRows(ListIterator):
    """Over all rows that `mask.nonzero()` may have: for those that it has not, the body of the loop
    has nothing to do (`optional_bodies.py`). `found` says of each number of the mask whether it is
    in; `step` and `exit` are how to stop at the loop instead."""

    __slots__ = ("exit", "found", "position", "step")

    def __init__(self, trace: Trace, rows: list[Any], found: list[Any], exit: Any) -> None:
        super().__init__(rows)
        frame = trace.frames[-1]
        self.found = found
        self.exit = exit
        self.position = (frame.code.code, frame.ip)
        self.step = trace.progress.step

    def advance(self, trace: Trace) -> Any:
        frame = trace.frames[-1]
        if self.at < len(self.items) and frame.code.instructions[frame.ip].op != "FOR_ITER":
            raise Break(control_flow.UNKNOWN_ITERATOR, iterator=self.describe())
        row = super().advance(trace)
        if row is not END:
            condition = self.found[self.at - 1]
            body = OptionalBody(trace, frame.ip, list(frame.stack), condition, True, self.exit)
            body.position, body.step = self.position, self.step
            begin_body(trace, body)
        return row

    def rebuild(self, emit: Emitter) -> str:
        raise Break(control_flow.UNKNOWN_ITERATOR, iterator=self.describe())


def _fills(mask: torch.fx.Node) -> bool:
    """Whether most numbers of a mask are likely to be in: those that are not cost the time of a
    body that runs on nothing. A mask of few numbers may have any; others are taken to be filled if
    they are made of a tensor with as many elements for each number as there are numbers."""
    count = mask.meta["example_value"].shape[0]
    largest, node = count, mask
    for _ in range(_LOOKED_THROUGH):
        node = next(iter(node.all_input_nodes), node)
        value = node.meta.get("example_value")
        size = value.numel() if isinstance(value, torch.Tensor) else 0
        hint = size.node.hint if symbolic_shapes.is_symbolic(size) else size
        largest = max(largest, hint or 0)
    return bool(count <= _FEW or largest >= count * count)


_FEW = 8
_LOOKED_THROUGH = 3  # operations


def optional_rows(trace: Trace, tensor: Tensor) -> OptionalRows | None:
    """Iterates over the rows that `mask.nonzero()` may have, if it may be so that the loop has
    nothing to do for those that it has not; None if it may not."""
    frame = trace.frames[-1]
    mask = mask_of(tensor)
    if mask is None or frame.code.instructions[frame.ip].op != "GET_ITER":
        return None
    count = mask.meta["example_value"].shape[0]
    if trace.region.whole or not may_run_on_nothing(trace, count) or writes_after(tensor.node):
        return None
    plan = trace.region.plan
    if (frame.code.code, frame.ip) in plan.unexpected | plan.decisive or not _fills(mask):
        return None
    try:
        abstract.constant_value(trace, abstract.tensor_length(trace, tensor))
    except Break as reason:
        exit = exit_for(trace, reason)
    else:
        return None
    given = abstract.from_value(trace, mask, mask.meta["example_value"])
    found = abstract.call_torch(trace, torch.ne, [given, Constant(0)], {})
    _, rows = _known_rows(trace, tensor.value.device, list(range(count)))
    return OptionalRows(trace, rows, abstract.tensor_rows(trace, found), exit)
