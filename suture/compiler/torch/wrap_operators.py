"""Operators that stand around a call: it stays one node, with the graph of the function inside, and
marks that passes over graphs read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.torch import trees
from suture.compiler.torch.bodies import Body, trace_body
from suture.compiler.torch.higher_order import emit, fresh, refuse_aliases


@handles("higher_order.wrap")
def _wrap(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A call that stays one node, with the function's graph inside."""
    return _around(trace, target, args, kwargs, {})


@handles("higher_order.base_hop")
def _marked(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The same with keywords that say something of the call, to passes over the graph."""
    return _around(
        trace, target, args, {}, {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    )


def _around(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value], marks: dict[str, Any]
) -> Value:
    fn, *given = args
    name = target.name()
    leaves: list[Any] = []
    structure = tuple(trees.flatten(trace, a, leaves) for a in given)
    values = [v.value for v in leaves]
    body = trace_body(trace, name, fn, structure, leaves, values, kwargs)
    nodes = [*(v.node for v in leaves), *body.lifted]
    passed = _passed_on(body, leaves)
    made = [v for v, outer in zip(body.values, passed) if outer is None]
    refuse_aliases([n.meta["example_value"] for n in nodes], made)
    if not made and passed:
        return trees.build(trace, body.result, passed)
    outcome = tuple(fresh(trace, body, nodes))
    held = trace.graph.held_body(body.module, f"{name}_body")
    flat = iter(abstract.unpack(trace, emit(trace, name, target, (held, *nodes), outcome, marks)))
    return trees.build(
        trace, body.result, [next(flat) if outer is None else outer for outer in passed]
    )


def _passed_on(body: Body, leaves: list[Any]) -> list[Any]:
    """For each result of a body the value outside that it is, where the body gives back what it
    was given, or what it found; None for those that it made. The module gives only these then."""
    output = next(n for n in body.module.graph.nodes if n.op == "output")
    given = [n for n in body.module.graph.nodes if n.op == "placeholder"][: len(leaves)]
    found = []
    for node, value in zip(output.args[0], body.outputs):
        if node in given:
            found.append(leaves[given.index(node)])
        else:
            found.append(value if node.op == "placeholder" else None)
    output.args = (tuple(n for n, outer in zip(output.args[0], found) if outer is None),)
    body.module.recompile()
    return found
