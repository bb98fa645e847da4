"""Repeated layers: calls of one function whose nodes are the same become calls of one body.

A pass over a finished graph, for backends that compile `invoke_subgraph` once however often it is
called. Nothing of the trace changes: where a call is not outlined, its nodes stay as they are. A
call is outlined if no program can tell: its nodes write to nothing, switch no mode, draw random
numbers only where each call still has its own (`draws`), and what they give is tensors with memory
of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch
import torch.fx

from suture.compiler.graph.device_time import hides_calls, runs_elsewhere
from suture.compiler.graph.draws import draws, told_apart
from suture.compiler.graph.signatures import Body, Differs, body_of
from suture.compiler.graph.spans import Span, Stretch, stretches
from suture.op_effects import effects_of, is_declared, written_by
from suture.op_kinds import is_contraction, is_convolution
from suture.torch_private import bodies, operators, tensor_parts

_FEWEST_CALLS = 4  # of a body that nobody has marked
_FEWEST_NODES = 8


@dataclass(frozen=True, slots=True)
class Repeated:
    """A body that is called several times in a graph: the function it comes from, how often it is
    called, how many nodes it has, whether the program has marked it."""

    code: CodeType
    times: int
    nodes: int
    marked: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which calls may become calls of a body. `unasked`: also those that the program has not
    marked. `drawing`: also those that draw random numbers. `launched`: the processor launches each
    kernel anew in each call of the graph, so that calls of a body cost where a device waits for
    it."""

    unasked: bool
    drawing: bool
    launched: bool


@dataclass(slots=True, eq=False)
class _Group:
    """Calls that are the same: `bodies` in the order of the graph."""

    stretches: list[Stretch] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)

    def saved(self) -> int:
        """How many nodes the backend is spared."""
        return (len(self.bodies) - 1) * len(self.bodies[0].nodes)

    def draws(self) -> bool:
        """Whether a call may draw random numbers."""
        return any(map(draws, self.bodies[0].nodes))

    @property
    def marked(self) -> bool:
        return self.stretches[0].span.marked


def outlined(
    module: torch.fx.GraphModule, spans: dict[torch.fx.Node, Span], wanted: Wanted
) -> tuple[torch.fx.GraphModule, list[Repeated]] | None:
    """A copy of the graph in which calls that are the same are calls of one body; None if there
    are none."""
    nodes = list(module.graph.nodes)
    chosen = _chosen(nodes, spans, wanted)
    if not chosen:
        return None
    reports = [
        Repeated(g.stretches[0].span.code, len(g.bodies), len(g.bodies[0].nodes), g.marked)
        for g in chosen
    ]
    return _rewritten(module, nodes, chosen), reports


def copied(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The same graph in nodes of its own."""
    return _rewritten(module, list(module.graph.nodes), [])


# ---- which calls


def _chosen(
    nodes: list[torch.fx.Node], spans: dict[torch.fx.Node, Span], wanted: Wanted
) -> list[_Group]:
    """The groups to outline, none within another: marked ones first, then those that save most."""
    candidates = _candidates(nodes, spans, wanted.unasked)
    if not candidates:
        return []
    written = _written(nodes)
    groups = [g for same in candidates for g in _groups(same, nodes, written, wanted)]
    groups.sort(key=lambda g: (not g.marked, -g.saved()))
    taken: set[int] = set()
    chosen = []
    for group in groups:
        own = {i for s in group.stretches for i in range(s.first, s.last + 1)}
        if taken.isdisjoint(own):
            taken |= own
            chosen.append(group)
    return chosen


def _candidates(
    nodes: list[torch.fx.Node], spans: dict[torch.fx.Node, Span], unasked: bool
) -> list[list[Stretch]]:
    """Calls of one code that made equally many nodes, where there are enough of both."""
    alike: dict[tuple[Any, ...], list[Stretch]] = {}
    for one in stretches(nodes, spans):
        marked = one.span.marked
        if one.whole and (marked or (unasked and one.count >= _FEWEST_NODES)):
            alike.setdefault((one.span.code, one.count, marked), []).append(one)
    return [same for same in alike.values() if len(same) >= _fewest(same[0])]


def _fewest(stretch: Stretch) -> int:
    return 2 if stretch.span.marked else _FEWEST_CALLS


def _groups(
    same: list[Stretch], nodes: list[torch.fx.Node], written: set[int], wanted: Wanted
) -> list[_Group]:
    """Those of the calls that are the same in all."""
    found: dict[Any, _Group] = {}
    for stretch in same:
        own = nodes[stretch.first : stretch.last + 1]
        if not stretch.span.marked and not _is_worth_it(own, wanted.launched):
            continue
        if not all(_may_be_outlined(node, wanted.drawing) for node in own):
            continue
        try:
            body = body_of(own)
        except Differs:
            continue
        if _shares_memory(body, written):
            continue
        group = found.setdefault(body.key, _Group())
        group.stretches.append(stretch)
        group.bodies.append(body)
    groups = map(_with_draws_of_their_own, found.values())
    return [g for g in groups if g.bodies and len(g.bodies) >= _fewest(g.stretches[0])]


def _is_worth_it(nodes: list[torch.fx.Node], launched: bool) -> bool:
    """Whether calls are as fast as the nodes in the midst of the graph. A norm or an activation is
    fused there with what is around it; images and weights of convolutions are ordered as those want
    them once for all, and not in each call; and a device that waits for each kernel waits for the
    call of the body as well."""
    if not any(map(is_contraction, nodes)) or any(map(is_convolution, nodes)):
        return False
    return not launched or not runs_elsewhere(nodes) or hides_calls(nodes)


def _with_draws_of_their_own(group: _Group) -> _Group:
    """Those calls of which no pass takes two for one, if they draw."""
    if not group.draws():
        return group
    apart = told_apart(group.bodies)
    return _Group(
        [one for one, own in zip(group.stretches, apart) if own],
        [one for one, own in zip(group.bodies, apart) if own],
    )


def _may_be_outlined(node: torch.fx.Node, drawing: bool) -> bool:
    """Whether a node computes something from what it is given, and does nothing else; if `drawing`,
    it may draw random numbers as an operator of torch does."""
    if node.op not in ("call_function", "call_method") or "unbacked_bindings" in node.meta:
        return False
    if isinstance(node.target, operators.HigherOrderOperator):
        return False
    effects = effects_of(node)
    if effects.writes or effects.acts:
        return False
    return not draws(node) or (drawing and not is_declared(node))


def _written(nodes: list[torch.fx.Node]) -> set[int]:
    """The memory that some node of the graph may write to."""
    found: set[int] = set()
    for node in nodes:
        for one in written_by(node):
            found.update(_memory(one))
    return found


def _memory(node: torch.fx.Node) -> list[int]:
    leaves = tensor_parts.pytree.tree_leaves(node.meta.get("example_value"))
    return [tensor_parts.storage_key(v) for v in leaves if isinstance(v, torch.Tensor)]


def _shares_memory(body: Body, written: set[int]) -> bool:
    """Whether what a body gives is memory of what it takes, or twice the same; or whether any
    memory that it has to do with is written to somewhere."""
    seen = {key for node in body.inputs for key in _memory(node)}
    for node in body.outputs:
        keys = _memory(node)
        if not seen.isdisjoint(keys):
            return True
        seen.update(keys)
    return not seen.isdisjoint(written)


# ---- the graph with calls


def _rewritten(
    module: torch.fx.GraphModule, nodes: list[torch.fx.Node], chosen: list[_Group]
) -> torch.fx.GraphModule:
    graph = torch.fx.Graph(tracer_cls=None)
    holder = torch.nn.Module()
    new: dict[torch.fx.Node, torch.fx.Node] = {}
    starts: dict[torch.fx.Node, Callable[[], None]] = {}
    for number, group in enumerate(chosen):
        name = f"layer_{number}"
        layer = group.bodies[0].as_module(group.draws())
        setattr(holder, name, bodies.writes_nothing(layer))
        for body in group.bodies:
            starts[body.nodes[0]] = _caller(graph, name, body, new)
    inside = {node for group in chosen for body in group.bodies for node in body.nodes}
    for node in nodes:
        if node in starts:
            starts[node]()
        if node in inside:
            continue
        if node.op in ("get_attr", "call_module"):
            setattr(holder, str(node.target), getattr(module, str(node.target)))
        new[node] = graph.node_copy(node, new.__getitem__)
    return torch.fx.GraphModule(holder, graph, "Region")


def _caller(
    graph: torch.fx.Graph, name: str, body: Body, new: dict[torch.fx.Node, torch.fx.Node]
) -> Callable[[], None]:
    """What puts one call of a body into the graph."""

    def call() -> None:
        held = graph.get_attr(name)
        given = [new[node] for node in body.inputs]
        made = graph.call_function(torch.ops.higher_order.invoke_subgraph, (held, name, *given))
        values = tuple(node.meta["example_value"] for node in body.outputs)
        made.meta["example_value"] = made.meta["val"] = values
        for i, node in enumerate(body.outputs):
            part = graph.call_function(operator.getitem, (made, i))
            part.meta.update(node.meta)
            new[node] = part

    return call
