"""Whether a graph has collectives or barriers: it is not run twice then, since other ranks do
not run theirs again. And whether one with barriers may be compiled in parts."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

import torch.fx

from suture.backends import SWITCHES
from suture.compiler.graph.builder import GraphBuilder
from suture.runtime.barriers import call_barrier
from suture.torch_private import distributed_parts, operators, tensor_parts

_COLLECTIVES = ("_c10d_functional", "_c10d_functional_autograd", "c10d", "_dtensor")


def has_collectives(graph: torch.fx.Graph, attributes: dict[str, Any]) -> bool:
    """Whether a node of a graph, or of one that it holds, is a collective or a barrier, or may be
    one inside, as any operation on DTensors."""
    kind = distributed_parts.kind_of_dtensors()
    for node in graph.nodes:
        if _is_collective(node.target) or (kind is not None and _gives(node, kind)):
            return True
    held = (one for one in attributes.values() if isinstance(one, torch.fx.GraphModule))
    return any(has_collectives(one.graph, vars(one)["_modules"]) for one in held)


def may_be_in_parts(builder: GraphBuilder) -> bool:
    """Whether a graph with barriers may be compiled in parts: it takes no derivatives, and switches
    no mode that a part may not begin with."""
    if builder.derivatives.positions:
        return False
    return all(setter in SWITCHES for setter, _ in builder.resets)


def _is_collective(target: Any) -> bool:
    if type(target) is str or type(target) is BuiltinFunctionType:
        return False
    if isinstance(target, (operators.OpOverload, operators.OpOverloadPacket)):
        return str(target).partition(".")[0] in _COLLECTIVES
    return target is call_barrier


def _gives(node: torch.fx.Node, kind: type) -> bool:
    """Whether a node gives a tensor of that class, or something that holds one."""
    value = node.meta.get("example_value")
    values = [value] if isinstance(value, torch.Tensor) else tensor_parts.pytree.tree_leaves(value)
    return any(isinstance(one, kind) for one in values)
