"""Inputs that a graph writes to and of which a derivative may need what they held.

AOTAutograd computes without writing, and writes to such inputs where the forward graph ends. What
the backward graph needs of them it may save as the input itself, or compute from it again: from
what was written, by then. With `step += 1; return y * 0.9**step` the derivative was that of a later
step. Such a graph is given a copy of the input, writes to a copy of that, and gives what it wrote
as one more result, which is copied to the input behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.fx

from suture.backends.request import TracedGraph
from suture.op_effects import operation_name, written_by
from suture.torch_private import tensor_parts, thread_state
from suture.torch_private.graph_modules import fake_value


@dataclass(frozen=True)
class Overwritten:
    """Inputs, by their places, that are written too early for a derivative. `apart`: their memory
    is no other input's and in no result, so that copies may stand for them."""

    places: tuple[int, ...]
    apart: bool


def overwritten_inputs(module: torch.fx.GraphModule) -> Overwritten | None:
    """The inputs of a graph that it writes to, where the derivative of a result may need a value
    that was computed from what they held, before or after the writes; None if there are none.
    Writes that autograd follows are left out: whoever saved the old value is told of those."""
    nodes = list(module.graph.nodes)
    given = [node for node in nodes if node.op == "placeholder"]
    written = _written_unseen(nodes)
    memories = [_memory(node) for node in given]
    if written.isdisjoint(memories):
        return None
    derived = _derived(nodes)
    needed = {one for one in memories if one in written and _is_needed(nodes, one, derived)}
    if not needed:
        return None
    places = tuple(i for i, one in enumerate(memories) if one in needed)
    seen = {_memory(one) for node in nodes if _is_odd(node) for one in node.all_input_nodes}
    seen |= {_memory(one) for one in nodes[-1].all_input_nodes}
    dense = all(_is_dense(fake_value(given[i])) for i in places)
    return Overwritten(places, dense and len(places) == len(needed) and seen.isdisjoint(needed))


def given_copies(graph: TracedGraph, inputs: Overwritten) -> TracedGraph:
    """The graph, with what it writes to these inputs as further results instead."""
    made = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    made.graph_copy(graph.module.graph, copies)
    given = [node for node in made.nodes if node.op == "placeholder"]
    values = {}
    for place in inputs.places:
        with made.inserting_after(given[-1]):
            value = values[given[place]] = made.call_method("clone", (given[place],))
        for user in [one for one in given[place].users if one is not value]:
            user.replace_input_with(given[place], value)
    results = next(reversed(graph.module.graph.nodes)).args[0]
    made.output((*torch.fx.map_arg(results, copies.__getitem__), *values.values()))
    module = torch.fx.GraphModule(graph.module, made, "Region")
    return replace(graph, module=module, static=[i for i in graph.static if i not in inputs.places])


def with_copies(compiled: Callable[..., Any], inputs: Overwritten) -> Callable[..., Any]:
    """A compiled graph of `given_copies`; what it wrote is written to the inputs behind it."""
    places = inputs.places

    def run(*args: Any) -> Any:
        given = list(args)
        for i in places:
            given[i] = args[i].clone()
        results = compiled(*given)
        with torch.no_grad():
            for i, value in zip(places, results[-len(places) :], strict=True):
                args[i].copy_(value)
        return results[: -len(places)]

    return run


def _written_unseen(nodes: list[torch.fx.Node]) -> set[Any]:
    """The memory that operations write to, none of which autograd follows."""
    unseen: set[Any] = set()
    seen: set[Any] = {None}
    follows = True
    for node in nodes:
        if node.target is thread_state.set_grad_enabled:
            follows = bool(node.args[0])
        if node.op not in ("call_function", "call_method") or _calls_bodies(node):
            continue
        written = {_memory(at) for at in written_by(node)}
        derives = follows and any(map(_requires_grad, node.all_input_nodes))
        (seen if derives else unseen).update(written)
    return unseen - seen


def _derived(nodes: list[torch.fx.Node]) -> set[torch.fx.Node]:
    """The nodes that the derivatives of the results go back through."""
    waiting = [node for node in nodes[-1].all_input_nodes if _requires_grad(node)]
    found: set[torch.fx.Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [one for one in node.all_input_nodes if _requires_grad(one)]
    return found


def _is_needed(nodes: list[torch.fx.Node], memory: Any, derived: set[torch.fx.Node]) -> bool:
    """Whether one of the operations that have a derivative takes what was computed from a
    memory."""
    computed: set[torch.fx.Node] = set()
    held = {memory}
    for node in nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        if not any(one in computed or _memory(one) in held for one in node.all_input_nodes):
            continue
        if node in derived and _memory(node) != memory:
            return True
        written = {_memory(at) for at in written_by(node)}
        if written or _has_tensors(node) or _reads(node):
            computed.add(node)
            held |= (written | {_memory(node)}) - {None}
    return False


def _reads(node: torch.fx.Node) -> bool:
    """Whether a number that a node gives is one of the elements of a tensor, or computed from one;
    not a size."""
    if operation_name(node) in ("item", "tolist", "__int__", "__float__", "__bool__"):
        return True
    return node.op == "call_function" and not any(map(_memory, node.all_input_nodes))


def _is_odd(node: torch.fx.Node) -> bool:
    """Whether a node sees where in its memory a tensor lies, or runs a graph of its own."""
    return operation_name(node) in ("as_strided", "as_strided_", "set_", "storage_offset") or (
        _calls_bodies(node)
    )


def _calls_bodies(node: torch.fx.Node) -> bool:
    """Whether a node takes graphs."""
    return any(one.op == "get_attr" and fake_value(one) is None for one in node.all_input_nodes)


def _leaves(node: torch.fx.Node) -> Iterator[Any]:
    return iter(tensor_parts.pytree.tree_leaves(fake_value(node)))


def _requires_grad(node: torch.fx.Node) -> bool:
    return any(isinstance(one, torch.Tensor) and one.requires_grad for one in _leaves(node))


def _has_tensors(node: torch.fx.Node) -> bool:
    return any(isinstance(one, torch.Tensor) for one in _leaves(node))


def _is_dense(value: torch.Tensor) -> bool:
    """Whether a copy has the same strides."""
    return bool(torch.ops.aten.is_non_overlapping_and_dense(value))


def _memory(node: torch.fx.Node) -> Any:
    value = fake_value(node)
    plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    if not plain or tensor_parts.is_traceable_wrapper_subclass(value):
        return None
    return tensor_parts.storage_key(value)
