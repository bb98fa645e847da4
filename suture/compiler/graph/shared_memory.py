"""Inputs in memory that other processes write to as well."""

from __future__ import annotations

from typing import Any

import torch

from suture.backends.parts import writes_all
from suture.compiler.graph.effects_of import written_by
from suture.torch_private import tensor_parts


def writes_part_of_shared(builder: Any) -> bool:
    """Whether the graph writes to some elements of an input whose memory processes share. Compilers
    write all of such an input back when the graph ends, over what others have put there meanwhile.
    Asked of the tensors at hand: those of a module are the same at each call."""
    if not builder.writes():
        return False
    shared = {
        tensor_parts.storage_key(entry.node.meta["val"])
        for entry in builder.inputs
        if _is_shared(entry.example)
    }
    return bool(shared) and any(
        _memory(at) in shared and not (at.op == "placeholder" and writes_all(node))
        for node in builder.graph.nodes
        for at in written_by(node)
    )


def _is_shared(example: Any) -> bool:
    return bool(
        type(example) in (torch.Tensor, torch.nn.Parameter)
        and example.layout is torch.strided
        and example.device.type == "cpu"
        and example.is_shared()
    )


def _memory(node: torch.fx.Node) -> Any:
    value = node.meta.get("val", node.meta.get("example_value"))
    plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return tensor_parts.storage_key(value) if plain else None
