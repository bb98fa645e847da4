"""The parts of a graph between its barriers, and whether each may be compiled on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from suture.op_effects import written_by
from suture.op_kinds import changes_tensor, writes_all
from suture.runtime.barriers import call_barrier
from suture.runtime.modes import change_autocast_nesting
from suture.torch_private import (
    distributed_parts,
    operators,
    symbolic_shapes,
    tensor_parts,
    thread_state,
)

# Switches of modes that a part may begin and end with: their last argument is the new state, the
# ones in front of it say which mode is meant.
SWITCHES = frozenset({
    thread_state.set_grad_enabled, torch.set_autocast_enabled, torch.set_autocast_dtype,
    torch.set_autocast_cache_enabled, change_autocast_nesting,
})  # fmt: skip


@dataclass
class Part:
    """What runs up to a barrier. `takes` comes from before, `gives` is used after it. `again` are
    sizes of parts before, which are computed again; the modes that hold where it begins are
    switched first (`modes_before`), and put back after it."""

    nodes: list[torch.fx.Node] = field(default_factory=list)
    takes: list[torch.fx.Node] = field(default_factory=list)
    gives: list[torch.fx.Node] = field(default_factory=list)
    again: list[torch.fx.Node] = field(default_factory=list)
    modes_before: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)
    modes_behind: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)
    barrier: torch.fx.Node | None = None  # the one at its end
    call: Callable[..., Any] | None = None

    def computes(self) -> bool:
        """Whether there is more in it than modes that are switched."""
        return not all(node.target in SWITCHES for node in self.nodes)


def parts_of(gm: torch.fx.GraphModule) -> list[Part]:
    """The parts in order; the last one has no barrier at its end."""
    parts, held_by = [Part()], {}
    for node in gm.graph.nodes:
        if node.target is call_barrier:
            parts[-1].barrier = node
            parts.append(Part())
        elif node.op not in ("placeholder", "get_attr", "output"):
            parts[-1].nodes.append(node)
            held_by[node] = parts[-1]

    def need(part: Part | None, node: torch.fx.Node) -> None:
        made_in = held_by.get(node)
        if node.op == "get_attr" or (part is not None and made_in is part):
            return
        if part is not None and made_in is not None and _is_size(node):
            if node not in part.again:
                for above in node.all_input_nodes:
                    need(part, above)
                part.again.append(node)
            return
        if part is not None and node not in part.takes:
            part.takes.append(node)
        if made_in is not None and node not in made_in.gives:
            made_in.gives.append(node)

    for node in gm.graph.nodes:
        for above in node.all_input_nodes:
            need(held_by.get(node), above)
    _note_modes(parts)
    return parts


def _note_modes(parts: list[Part]) -> None:
    """Say of each part which modes it begins with and which it must put back. A graph ends with
    all modes as they were before it."""
    switched = [(node.target, node.args) for part in parts for node in part.nodes]
    switched = [one for one in switched if one[0] in SWITCHES]
    outside = {_mode(*one): one for one in switched}  # the last switch of each
    nested, now = 0, dict(outside)
    for part in parts:
        part.modes_before = _differing(now, outside, nested)
        for node in part.nodes:
            if node.target is change_autocast_nesting:
                (change,) = node.args
                assert isinstance(change, int)
                nested += change
            elif node.target in SWITCHES:
                now[_mode(node.target, node.args)] = (node.target, node.args)
        part.modes_behind = _differing(outside, now, -nested)


def _mode(setter: Any, args: tuple[Any, ...]) -> Any:
    return setter, args[:-1]


def _differing(wanted: Any, held: Any, nested: int) -> list[tuple[Any, tuple[Any, ...]]]:
    """The switches from the modes that hold to others, and into or out of levels of autocast."""
    needed = [wanted[mode] for mode in wanted if wanted[mode][1] != held[mode][1]]
    needed = [one for one in needed if one[0] is not change_autocast_nesting]
    return [*needed, (change_autocast_nesting, (nested,))] if nested else needed


def may_be_cut(gm: torch.fx.GraphModule, parts: list[Part]) -> bool:
    """Whether each part, compiled for what its inputs are when tracing is over, computes what it
    does in the whole graph. An input that is written has, where autograd looks, another history in
    the next part; what is written in a part must not be seen there under another name; and a part
    that writes to some of an input's elements writes all of them when it ends, over what other
    ranks have put there meanwhile. A compiler may use the memory of what a collective sends for
    something else, if nothing in the part waits for it."""
    for node in gm.graph.nodes:
        if changes_tensor(node):
            return False
        if node.op == "call_module" or not _is_plain(node.meta.get("example_value")):
            return False
    if any(map(_is_distributed, gm.graph.nodes)) and not _keeps_apart(gm, parts):
        return False
    before: set[Any] = set()
    for part in parts:
        if not (_takes_plain_values(part) and _binds_symbols(gm, part) and _waits(part)):
            return False
        if any(_memory(n) in before and _follows(n) for n in part.takes):
            return False
        made_here = {_memory(node) for node in part.nodes} - {_memory(n) for n in part.takes}
        outside: set[Any] = set()
        for node in part.nodes:
            for at in written_by(node):
                if _memory(at) in made_here:
                    continue
                if at not in part.takes or not writes_all(node):
                    return False
                outside.add(_memory(at))
        for memory in outside:
            names = [node for node in part.takes if _memory(node) == memory]
            if len(names) != 1 or _follows(names[0]):
                return False
        before |= outside
    return True


def _keeps_apart(gm: torch.fx.GraphModule, parts: list[Part]) -> bool:
    """Whether a graph with DTensors may be cut. In which memory their local parts lie is not known
    here, so nothing may be written. AOTAutograd takes a mesh for that of a derivative, where it has
    both, and fails on some graphs that give DTensors with derivatives."""
    if _symbols(gm.graph.nodes) or any(written_by(node) for node in gm.graph.nodes):
        return False
    return not any(_is_distributed(n) and _follows(n) for part in parts for n in part.gives)


def _takes_plain_values(part: Part) -> bool:
    """Whether all that a part takes are tensors, and sizes that are inputs of the graph."""
    return all(
        isinstance(node.meta["example_value"], torch.Tensor)
        or (node.op == "placeholder" and _is_size(node))
        for node in part.takes
    )


def _binds_symbols(gm: torch.fx.GraphModule, part: Part) -> bool:
    """Whether each symbol in the sizes of what a part takes is itself the size of something that it
    takes, as compilers want it. Inputs of the graph are taken along for that."""
    missing = _symbols((*part.takes, *part.nodes)) - _bound(part.takes)
    for node in gm.graph.nodes:
        if missing and node.op == "placeholder" and missing & _bound([node]):
            part.takes.append(node)
            missing -= _bound([node])
    return not missing


def _waits(part: Part) -> bool:
    """Whether each collective that a part begins is waited for in it."""
    held = set(part.nodes)
    wait = distributed_parts.functional_operators.wait_tensor
    for node in part.nodes:
        if not isinstance(node.target, (operators.OpOverload, operators.OpOverloadPacket)):
            continue
        if not str(node.target).startswith("_c10d_functional.") or _is(node.target, wait):
            continue
        if not any(user in held and _is(user.target, wait) for user in node.users):
            return False
        if not held.issuperset(node.users):
            return False
    return True


def _is(target: Any, packet: Any) -> bool:
    """Whether a target is an operator, or one of its overloads."""
    return target is packet or getattr(target, "overloadpacket", None) is packet


def _is_size(node: torch.fx.Node) -> bool:
    """Whether a value consists of integers that sizes of inputs decide."""
    leaves = tensor_parts.pytree.tree_leaves(node.meta.get("example_value"))
    return bool(leaves) and all(isinstance(one, torch.SymInt) for one in leaves)


def _is_plain(value: Any) -> bool:
    """Whether all tensors in a value are DTensors or strided ones of torch, and all numbers follow
    from sizes of inputs."""
    for one in tensor_parts.pytree.tree_leaves(value):
        if isinstance(one, (torch.SymFloat, torch.SymBool)):
            return False
        if isinstance(one, torch.Tensor):
            if one.layout is not torch.strided:
                return False
            wraps = tensor_parts.is_traceable_wrapper_subclass(one)
            if wraps and not distributed_parts.is_dtensor(one):
                return False
        if any(map(symbolic_shapes.has_free_unbacked_symbols, _numbers(one))):
            return False
    return True


def _is_distributed(node: torch.fx.Node) -> bool:
    leaves = tensor_parts.pytree.tree_leaves(node.meta.get("example_value"))
    return any(distributed_parts.is_dtensor(one) for one in leaves)


def _follows(node: torch.fx.Node) -> bool:
    """Whether autograd follows a value."""
    value = node.meta["example_value"]
    return isinstance(value, torch.Tensor) and value.requires_grad


def _numbers(value: Any) -> Iterator[torch.SymInt]:
    """The integers that are no constants, in a number or in what is known of a tensor."""
    if isinstance(value, torch.SymInt):
        yield value
    elif isinstance(value, torch.Tensor):
        for one in (*value.shape, *value.stride(), value.storage_offset()):
            if isinstance(one, torch.SymInt):
                yield one


def _symbols(nodes: Iterable[torch.fx.Node]) -> set[Any]:
    """All symbols in the sizes of values."""
    found: set[Any] = set()
    for node in nodes:
        for one in tensor_parts.pytree.tree_leaves(node.meta.get("example_value")):
            for number in _numbers(one):
                found |= symbolic_shapes.expression_now(number).free_symbols
    return found


def _bound(nodes: Iterable[torch.fx.Node]) -> set[Any]:
    """The symbols that are sizes of these values, or these values themselves."""
    found: set[Any] = set()
    for node in nodes:
        value = node.meta["example_value"]
        sizes = value.shape if isinstance(value, torch.Tensor) else [value]
        plain = {symbolic_shapes.expression_now(n) for n in sizes if isinstance(n, torch.SymInt)}
        found |= {one for one in plain if one.is_Symbol}
    return found


def _memory(node: torch.fx.Node) -> Any:
    """Which memory the value of a node lies in; the node itself if it is no tensor."""
    value = node.meta.get("example_value")
    return tensor_parts.storage_key(value) if isinstance(value, torch.Tensor) else node
