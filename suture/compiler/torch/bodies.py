"""Tracing a function into a graph of its own, for an operator that takes functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from suture.breaks import Break, autograd, higher_order
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.effects import Effects
from suture.compiler.graph import OpFailed
from suture.compiler.objects import Raised, Symbol, Tensor
from suture.compiler.torch import trees
from suture.compiler.torch.body_effects import Outside, refuse_leaks
from suture.compiler.torch.tensors import op_failure


@dataclass(slots=True, eq=False)
class Body:
    """A traced function. `module` takes the flat arguments, then `lifted` (nodes of the graph
    around it that it uses) and gives a tuple; `result` is the structure of what it returns, and
    `outputs` are the graph values in it, as they are inside."""

    module: torch.fx.GraphModule
    lifted: list[torch.fx.Node]
    result: Any
    values: list[Any]  # the fake values of the tuple
    constants: bool  # whether the result holds something else than graph values
    outputs: list[Any]


_OF_BODIES = (
    higher_order.BODY_BREAKS,
    higher_order.BODY_SIDE_EFFECT,
    autograd.CONTEXT_ESCAPES,
)


def trace_body(
    trace: Trace,
    name: str,
    fn: Any,
    structure: Any,
    leaves: list[Any],
    fakes: list[Any],
    kwargs: Any = None,
    runs_once: bool = False,
) -> Body:
    """Trace `fn(*structure)` with fresh graph values in place of `leaves`, whose fake values
    are `fakes`. A body that breaks is refused; so is one that changes something outside, unless
    the operator runs it exactly once, at the call (`runs_once`): then the region changes it."""
    level = trace.graph.levels.push(runs_once)
    saved, trace.effects = trace.effects, Effects()
    trace.effects.globals.update(saved.globals)
    outside = Outside(trace)
    kept = False
    try:
        formal = [
            _formal(trace, level, i, old, fake) for i, (old, fake) in enumerate(zip(leaves, fakes))
        ]
        args = [trees.build(trace, s, formal) for s in structure]
        result = abstract.call(trace, fn, args, dict(kwargs or {}))
        if runs_once:
            refuse_leaks(trace, name, outside, saved, level.graph)
        else:
            outside.refuse_changes(trace, name, saved)
        outputs: list[Any] = []
        shape = trees.flatten(trace, result, outputs)
        nodes = [trace.graph.levels.lift(v.node) for v in outputs]
        kept = runs_once
    except Raised as raised:
        kind = raised.exception.python_type().__name__
        raise Break(higher_order.BODY_BREAKS, operator=name, reason=f"it raises {kind}") from None
    except Break as reason:
        if reason.type in _OF_BODIES:
            raise
        text = f"{reason.type.number}, {reason.message()}"
        raise Break(higher_order.BODY_BREAKS, operator=name, reason=text) from None
    finally:
        trace.graph.levels.pop()
        inside, trace.effects = trace.effects, saved
        if kept:
            saved.absorb(inside)
        trace.effects.note_change()  # nodes of the body may be in the graph
    lifted = list(level.lifted)
    values = [v.value for v in outputs]
    return Body(level.module(nodes), lifted, shape, values, _holds_others(shape), outputs)


def call_held(trace: Trace, module: object, name: str, nodes: list[Any], given: Any = ()) -> Value:
    """A node that calls a module kept in the graph. Of `given`, what comes back as it was is
    the same object."""
    target = trace.graph.hold(module, name)
    lifted = tuple(trace.graph.levels.lift(n) for n in nodes)
    try:
        node, value = trace.graph.call("call_module", target, lifted, {})
    except OpFailed as failed:
        raise op_failure(trace, failed, name) from failed.cause
    return abstract.from_value(trace, node, value, given)


def _formal(trace: Trace, level: Any, i: int, old: Value, fake: Any) -> Value:
    node = level.placeholder(f"arg{i}", fake)
    level.formal.append(node)
    if isinstance(fake, torch.Tensor):
        return Tensor(node, fake, None, torch.Tensor)
    return Symbol(node, fake)


def _holds_others(structure: object) -> bool:
    if isinstance(structure, trees.NotInGraph):
        return True
    if isinstance(structure, dict):
        return any(_holds_others(s) for s in structure.values())
    if isinstance(structure, (list, tuple)):
        return any(_holds_others(s) for s in structure)
    return False
