"""Inputs that have elements in common, of which the graph writes to one."""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler.graph.builder import GraphBuilder
from suture.compiler.graph.places import meet, places_of
from suture.op_effects import written_by
from suture.torch_private import tensor_parts


def writes_what_inputs_share(builder: GraphBuilder) -> bool:
    """Whether the graph writes to elements that a second input has too, such as a row and its
    matrix. AOTAutograd makes one input of both, and what Inductor compiled for one place of the row
    in the matrix comes out of its cache for another; in-place kernels read what they have
    written."""
    if not builder.writes():
        return False
    written = {_memory(at) for node in builder.graph.nodes for at in written_by(node)} - {None}
    shared: dict[int, list[tuple[Any, bool]]] = {}
    for entry in builder.inputs:
        real = entry.example
        if _has_memory(real):
            key = tensor_parts.storage_key(real)
            shared.setdefault(key, []).append((real, _memory(entry.node) in written))
    return any(_meet_where_written(group) for group in shared.values() if len(group) > 1)


def _has_memory(real: Any) -> bool:
    return (
        isinstance(real, torch.Tensor)
        and real.layout is torch.strided
        and not real.is_nested
        and not tensor_parts.is_traceable_wrapper_subclass(real)
    )


def _meet_where_written(group: list[tuple[Any, bool]]) -> bool:
    """Whether a tensor that is written and another of the same memory have an element in common."""
    for i, (tensor, written) in enumerate(group):
        for other, also in group[:i]:
            if (written or also) and _share(tensor, other):
                return True
    return False


def _share(one: Any, other: Any) -> bool:
    left, right = places_of(one), places_of(other)
    return left is None or right is None or meet(left, right)


def _memory(node: torch.fx.Node) -> Any:
    value = node.meta.get("val", node.meta.get("example_value"))
    plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return tensor_parts.storage_key(value) if plain else None
