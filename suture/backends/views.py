"""Views at the end of a graph are taken outside of it, as the program would.

AOTAutograd runs around graphs whose results share memory: it has the graph give the memory, and
takes the views again after it, at a price. A view costs an operation and changes nothing, so a
graph may as well end before it: what is left of it has no such results, is called the short way,
and can be kept for the next process.

A result is taken outside where it is a chain of views of an input, or of a value with a derivative
(whose memory AOTAutograd gives as well; where there is none, a compiler may compute no more than
the part that is looked at). It does not matter when a view is taken: writes to the memory before
and after it are seen alike, and no mode changes in a graph that is given here.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from suture.op_kinds import changes_tensor, gives_several_views, may_be_view
from suture.runtime.callers import Before, Caller
from suture.torch_private.tensor_parts import storage_key


@dataclass(frozen=True)
class Split:
    """A graph in two. `front` has the inputs of the whole one; None: nothing is left to compute.
    `behind` takes what it gives, then the inputs at `inputs`, and gives what the whole one does."""

    front: torch.fx.GraphModule | None
    behind: torch.fx.GraphModule
    inputs: tuple[int, ...]


def split_views(gm: torch.fx.GraphModule, derives: bool) -> Split | None:
    """The graph before the views that it ends with, and those; None if it ends with none. With
    `derives` autograd follows it."""
    nodes = list(gm.graph.nodes)
    results = nodes[-1].args[0]
    if not isinstance(results, tuple) or any(map(changes_tensor, nodes)):
        return None
    chains = [_chain(one, derives) for one in results if isinstance(one, torch.fx.Node)]
    views = {node for chain in chains for node in chain[1:]}
    if not views:
        return None
    bases = dict.fromkeys(chain[0] for chain in chains)
    given = [node for node in bases if node.op != "placeholder"]
    inputs = [node for node in nodes if node.op == "placeholder"]
    used = {*bases, *(one for node in views for one in node.all_input_nodes)}
    wanted = [node for node in inputs if node in used]
    places = tuple(inputs.index(node) for node in wanted)
    behind = _behind([node for node in nodes if node in views], results, [*given, *wanted])
    return Split(_front(gm, given, views), behind, places)


def with_views(front: Caller, split: Split | None) -> Caller:
    """What gives the results of the whole graph, from what runs its front; `front` itself if the
    graph was not split."""
    return front if split is None else Before(front, split.behind, split.inputs)


def _chain(result: torch.fx.Node, derives: bool) -> list[torch.fx.Node]:
    """What a result is a view of, and the views that lead to it; the result alone if it is no view,
    or none that can be taken outside."""
    chain = [result]
    while _is_view(chain[-1]):
        viewed = chain[-1].args[0]
        assert isinstance(viewed, torch.fx.Node)
        chain.append(viewed)
    base = chain[-1]
    value = base.meta.get("val")
    derived = derives and isinstance(value, torch.Tensor) and value.requires_grad
    return chain[::-1] if base.op == "placeholder" or derived else [result]


def _is_view(node: torch.fx.Node) -> bool:
    """Whether a node is a view of its first argument that constants and inputs say how to take."""
    if not node.args or not isinstance(node.args[0], torch.fx.Node):
        return False
    first, others = node.args[0], set(node.all_input_nodes) - {node.args[0]}
    if any(one.op != "placeholder" or _is_tensor(one) for one in others):
        return False
    if node.op == "call_function" and node.target is operator.getitem:
        return gives_several_views(first) if not _is_tensor(first) else _is_basic(node.args[1])
    if not may_be_view(node) or not _is_tensor(first):
        return False
    values = node.meta.get("val")
    parts = values if isinstance(values, (tuple, list)) else [values]
    return all(_shares_memory(one, first.meta["val"]) for one in parts)


def _is_tensor(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _shares_memory(one: Any, other: torch.Tensor) -> bool:
    """Whether two fake tensors have one storage."""
    return isinstance(one, torch.Tensor) and storage_key(one) == storage_key(other)


def _is_basic(index: Any) -> bool:
    """Whether an index gives a view: no tensor or list, and no bool, which asks for a copy."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        one is None or one is ... or type(one) in (int, slice) or isinstance(one, torch.fx.Node)
        for one in parts
    )


def _front(gm: torch.fx.GraphModule, given: list[Any], views: set[Any]) -> Any:
    """The graph with other results, and without views that nothing in it looks at."""
    graph = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    graph.graph_copy(gm.graph, copies)
    graph.output(tuple(copies[node] for node in given))
    for node in reversed(gm.graph.nodes):
        if node in views and not copies[node].users:
            graph.erase_node(copies[node])
    if all(node.op in ("placeholder", "output") for node in graph.nodes):
        return None
    return torch.fx.GraphModule(gm, graph, "Region")


def _behind(views: list[Any], results: tuple[Any, ...], taken: list[Any]) -> torch.fx.GraphModule:
    graph = torch.fx.Graph()
    copies = {node: graph.placeholder(node.name) for node in taken}
    for node in views:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(torch.fx.map_arg(results, copies.__getitem__))
    return torch.fx.GraphModule(torch.nn.Module(), graph, "Views")
