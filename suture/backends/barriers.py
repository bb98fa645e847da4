"""Graphs with barriers, compiled in parts.

What the program does before a barrier must have happened when the other ranks continue, and what
it does after one must see what they did: in memory that processes share, in collectives of other
groups. No backend keeps that inside of a graph. AOTAutograd writes to inputs at the end, and moves
reads of them; tokens of effects order calls with each other, and with nothing else. So a graph is
cut at each barrier: a part runs, Python calls the barrier, the next part runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from suture.backends.configure import Backend
from suture.backends.parts import Part, may_be_cut, parts_of
from suture.runtime.barriers import call_barrier
from suture.torch_private import compilers


def has_barrier(graph: torch.fx.Graph) -> bool:
    """Whether a barrier is among the nodes."""
    return bool(graph.find_nodes(op="call_function", target=call_barrier, sort=False))


def cut_at_barriers(
    backend: Backend, gm: torch.fx.GraphModule, compile_id: Any, may_cut: bool
) -> Callable[..., Any] | None:
    """A backend that compiles what is between barriers on its own; None: the graph has none, or
    the backend runs its nodes as they come. Where the graph must stay whole (not `may_cut`, or a
    part would compute something else on its own), operations run one after the other."""
    if backend.keeps_order() or not has_barrier(gm.graph):
        return None

    def compile_parts(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        parts = parts_of(gm)
        if not may_cut or not may_be_cut(gm, parts):
            run: Callable[..., Any] = gm.forward
            return run
        compilers.mark_static_inputs(gm, (), compile_id, keep=True)
        given = [node for node in gm.graph.nodes if node.op == "placeholder"]
        examples = dict(zip(given, inputs, strict=True))
        for part in parts:
            if part.computes():
                taken = [examples.get(node, node.meta["example_value"]) for node in part.takes]
                part.call = backend(_module(gm, part), taken)
        return _in_turn(gm, given, parts)

    return compile_parts


def _module(gm: torch.fx.GraphModule, part: Part) -> torch.fx.GraphModule:
    """A part as a graph of its own. It leaves the modes as they are around the whole graph."""
    graph, made = torch.fx.Graph(), {}
    for node in part.takes:
        made[node] = graph.placeholder(node.name, type_expr=node.type)
        made[node].meta = dict(node.meta)
    for setter, args in part.modes_before:
        graph.call_function(setter, args)
    for node in (*part.again, *part.nodes):
        for held in node.all_input_nodes:
            if held.op == "get_attr" and held not in made:
                made[held] = graph.node_copy(held)
        made[node] = graph.node_copy(node, made.__getitem__)
    for setter, args in part.modes_behind:
        graph.call_function(setter, args)
    graph.output(tuple(made[node] for node in part.gives))
    return torch.fx.GraphModule(gm, graph, "Part")


def _in_turn(
    gm: torch.fx.GraphModule, given: list[torch.fx.Node], parts: list[Part]
) -> Callable[..., Any]:
    """One function that runs parts and barriers in turn."""
    returned = next(node for node in gm.graph.nodes if node.op == "output").args[0]
    wanted: set[torch.fx.Node] = set()
    torch.fx.map_arg(returned, wanted.add)
    wait: Callable[..., None] = call_barrier  # takes what its node took

    def call_parts(*args: Any) -> Any:
        values = dict(zip(given, args, strict=True))
        for at, part in enumerate(parts):
            if part.call is not None:
                made = part.call(*(values[node] for node in part.takes))
                values.update(zip(part.gives, made, strict=True))
                del made
            if part.barrier is not None:
                wait(*part.barrier.args, **part.barrier.kwargs)
            later = wanted.union(*(one.takes for one in parts[at + 1 :]))
            for node in values.keys() - later:
                del values[node]
        return torch.fx.map_arg(returned, values.__getitem__)

    return call_parts
