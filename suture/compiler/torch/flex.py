"""flex_attention: score and mask functions become graphs on single scores."""

from __future__ import annotations

import operator
from typing import Any

import torch

from suture.breaks import Break, higher_order
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph import OpFailed
from suture.compiler.models import handles
from suture.compiler.objects import Tensor, Tuple
from suture.compiler.torch import trees
from suture.compiler.torch.bodies import Body, trace_body
from suture.compiler.torch.tensors import op_failure


@handles("higher_order.flex_attention")
def _flex_attention(trace: Trace, target: Any, args: Any, kwargs: Any) -> Value:
    if len(args) < 7 or kwargs:
        raise _refuse("called in an unusual way")
    query, key, value, score_mod, block_mask, scale, options = args[:7]
    if any(abstract.unpack(trace, buffers) for buffers in args[7:]):
        raise _refuse("called with buffers of its own")
    *blocks, mask_mod = abstract.unpack(trace, block_mask)
    score = _body(trace, score_mod, query, with_score=True)
    mask = _body(trace, mask_mod, query, with_score=False)
    modules = [
        trace.graph.held_module(_single(body.module), name)
        for body, name in ((score, "score_mod"), (mask, "mask_mod"))
    ]
    parts = [abstract.proxy(trace, v) for v in (query, key, value, Tuple(blocks), scale, options)]
    q, k, v, block, scaled, kernel = parts
    given = (q, k, v, modules[0], (*block, modules[1]), scaled, kernel)
    flat = (*given, tuple(score.lifted), tuple(mask.lifted))
    lifted = torch.fx.map_arg(flat, trace.graph.levels.lift)
    try:
        result = trace.graph.run_operator(target, lifted)
    except OpFailed as failed:
        raise op_failure(trace, failed, "flex_attention") from failed.cause
    node = trace.graph.node("call_function", target, lifted, {}, result)
    return abstract.from_value(trace, node, result)


def _refuse(reason: str) -> Break:
    return Break(higher_order.BODY_BREAKS, operator="flex_attention", reason=reason)


def _body(trace: Trace, fn: Value, query: Tensor, with_score: bool) -> Body:
    """The function of one score (or none) and four indices, each a tensor of no dimensions."""
    with trace.graph.fake, torch.no_grad():
        fakes = [query.value.new_empty((), dtype=torch.int32) for _ in range(4)]
        if with_score:
            fakes.insert(0, query.value.new_empty(()))
    structure = tuple(trees.Leaf(i) for i in range(len(fakes)))
    trace.modes.mapped += 1  # the operator maps it over all scores, each with indices of its own
    try:
        body: Body = trace_body(trace, "flex_attention", fn, structure, fakes, fakes)
    finally:
        trace.modes.mapped -= 1
    if body.constants or not isinstance(body.result, trees.Leaf):
        raise _refuse("a function gives something that is no tensor")
    return body


def _single(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The module giving its one result, with items read as the program reads them: the operator
    knows those, and how gradients go back into a table."""
    for node in module.graph.nodes:
        if node.op == "output":
            node.args = (node.args[0][0],)
        elif node.target is torch.ops.aten.index.Tensor:
            table, indices = node.args
            node.target, node.args = operator.getitem, (table, tuple(indices))
    module.recompile()
    return module
