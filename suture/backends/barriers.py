"""Graphs with barriers, compiled in parts.

What the program does before a barrier must have happened when the other ranks go on, and what
it does behind one must see what they did: in memory that processes share, in collectives of other
groups. No backend keeps that inside of a graph. AOTAutograd writes to inputs at the end, and moves
reads of them; tokens of effects order calls with each other, and with nothing else. So a graph is
cut at each barrier: a part runs, Python calls the barrier, the next part runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from suture.runtime.barriers import call_barrier
from suture.torch_private import compilers, tensor_parts

Written = Callable[[torch.fx.Node], Iterable[torch.fx.Node]]
# They keep the order of nodes, and need no cutting.
_IN_ORDER = ("eager", "noop", "record")
# Change what a tensor is, not only what is in it.
_RESHAPING = frozenset({
    "resize_", "resize_as_", "set_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_",
    "unsqueeze_", "as_strided_", "detach_", "requires_grad_", "set_data",
})  # fmt: skip

# Write every element of the tensor they are called on.
_OVER_ALL = frozenset({
    "copy_", "zero_", "fill_", "add_", "sub_", "mul_", "div_", "addcmul_", "addcdiv_", "lerp_",
    "iadd", "isub", "imul", "itruediv",
})  # fmt: skip


def has_barrier(graph: torch.fx.Graph) -> bool:
    """Whether a barrier is among the nodes."""
    return any(node.target is call_barrier for node in graph.nodes)


def cut_at_barriers(
    backend: Callable[..., Any],
    name: str,
    gm: torch.fx.GraphModule,
    compile_id: Any,
    written: Written | None,
) -> Callable[..., Any] | None:
    """A backend that compiles what is between barriers on its own; None: the graph has none, or
    the backend runs its nodes as they come. `written` gives the nodes whose values a node may write
    to; without it, and where it forbids to cut, operations run one after the other."""
    if name in _IN_ORDER or not has_barrier(gm.graph):
        return None

    def compile_parts(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        parts = _parts(gm)
        if written is None or not _may_be_cut(gm, parts, written):
            run: Callable[..., Any] = gm.forward
            return run
        compilers.mark_static_inputs(gm, (), compile_id, keep=True)
        given = [node for node in gm.graph.nodes if node.op == "placeholder"]
        examples = dict(zip(given, inputs, strict=True))
        for part in parts:
            if part.nodes:
                taken = [examples.get(node, node.meta["example_value"]) for node in part.takes]
                part.call = backend(_module(gm, part), taken)
        return _in_turn(gm, given, parts)

    return compile_parts


@dataclass
class _Part:
    """What runs up to a barrier. `takes` comes from before, `gives` is used behind."""

    nodes: list[torch.fx.Node] = field(default_factory=list)
    takes: list[torch.fx.Node] = field(default_factory=list)
    gives: list[torch.fx.Node] = field(default_factory=list)
    barrier: tuple[Any, ...] | None = None  # the arguments of the one at its end
    call: Callable[..., Any] | None = None


def _parts(gm: torch.fx.GraphModule) -> list[_Part]:
    parts, held_by = [_Part()], {}
    for node in gm.graph.nodes:
        if node.target is call_barrier:
            parts[-1].barrier = node.args
            parts.append(_Part())
        elif node.op not in ("placeholder", "get_attr", "output"):
            parts[-1].nodes.append(node)
            held_by[node] = parts[-1]
    for node in gm.graph.nodes:
        used_in = held_by.get(node)
        for above in node.all_input_nodes:
            if above.op == "get_attr" or (used_in is not None and held_by.get(above) is used_in):
                continue
            if used_in is not None and above not in used_in.takes:
                used_in.takes.append(above)
            made_in = held_by.get(above)
            if made_in is not None and above not in made_in.gives:
                made_in.gives.append(above)
    return parts


def _module(gm: torch.fx.GraphModule, part: _Part) -> torch.fx.GraphModule:
    """A part as a graph of its own."""
    graph, made = torch.fx.Graph(), {}
    for node in part.takes:
        made[node] = graph.placeholder(node.name, type_expr=node.type)
        made[node].meta = dict(node.meta)
    for node in part.nodes:
        for held in node.all_input_nodes:
            if held.op == "get_attr" and held not in made:
                made[held] = graph.node_copy(held)
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple(made[node] for node in part.gives))
    return torch.fx.GraphModule(gm, graph, "Part")


def _in_turn(
    gm: torch.fx.GraphModule, given: list[torch.fx.Node], parts: list[_Part]
) -> Callable[..., Any]:
    """One function that runs parts and barriers in turn."""
    returned = next(node for node in gm.graph.nodes if node.op == "output").args[0]
    wanted: set[torch.fx.Node] = set()
    torch.fx.map_arg(returned, wanted.add)

    def call_parts(*args: Any) -> Any:
        values = dict(zip(given, args, strict=True))
        for at, part in enumerate(parts):
            if part.call is not None:
                made = part.call(*(values[node] for node in part.takes))
                values.update(zip(part.gives, made, strict=True))
                del made
            if part.barrier is not None:
                call_barrier(*part.barrier)
            later = wanted.union(*(one.takes for one in parts[at + 1 :]))
            for node in values.keys() - later:
                del values[node]
        return torch.fx.map_arg(returned, values.__getitem__)

    return call_parts


def _may_be_cut(gm: torch.fx.GraphModule, parts: list[_Part], written: Written) -> bool:
    """Whether each part, compiled for what its inputs are when tracing is over, computes what it
    does in the whole graph. Sizes that are symbols may be known to one part alone; an input that is
    written has, where autograd looks, another history in the next part; what is written in a part
    must not be seen there under another name; and a part that writes to some of an input's elements
    writes all of them when it ends, over what other ranks have put there meanwhile."""
    for node in gm.graph.nodes:
        if node.op not in ("placeholder", "output") and _name(node) in _RESHAPING:
            return False
        if node.op == "call_module" or not _is_plain(node.meta.get("example_value")):
            return False
    before: set[Any] = set()
    for part in parts:
        if any(not isinstance(node.meta["example_value"], torch.Tensor) for node in part.takes):
            return False
        if any(_memory(n) in before and n.meta["example_value"].requires_grad for n in part.takes):
            return False
        made_here = {_memory(node) for node in part.nodes} - {_memory(n) for n in part.takes}
        outside: set[Any] = set()
        for node in part.nodes:
            for at in written(node):
                if _memory(at) in made_here:
                    continue
                if at not in part.takes or not writes_all(node):
                    return False
                outside.add(_memory(at))
        for memory in outside:
            names = [node for node in part.takes if _memory(node) == memory]
            if len(names) != 1 or names[0].meta["example_value"].requires_grad:
                return False
        before |= outside
    return True


def writes_all(node: torch.fx.Node) -> bool:
    """Whether an operation that writes a tensor writes each of its elements."""
    return _name(node) in _OVER_ALL


def _name(node: torch.fx.Node) -> str:
    """Of a method or a function."""
    return node.target if type(node.target) is str else getattr(node.target, "__name__", "")


def _is_plain(value: Any) -> bool:
    """Whether all tensors in a value are strided ones of torch, with sizes that are numbers."""
    for one in tensor_parts.pytree.tree_leaves(value):
        if isinstance(one, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return False
        if isinstance(one, torch.Tensor):
            if tensor_parts.is_traceable_wrapper_subclass(one) or one.layout is not torch.strided:
                return False
            if any(type(n) is not int for n in (*one.shape, *one.stride(), one.storage_offset())):
                return False
    return True


def _memory(node: torch.fx.Node) -> Any:
    """Which memory the value of a node lies in; the node itself if it is no tensor."""
    value = node.meta.get("example_value")
    return tensor_parts.storage_key(value) if isinstance(value, torch.Tensor) else node
