"""Inputs to which a graph gives another shape: a backend has to see the one they came in with."""

from __future__ import annotations

import torch
import torch.fx

from suture.compiler.graph.builder import GraphBuilder
from suture.torch_private import tensor_parts


def keep_shape(builder: GraphBuilder, node: torch.fx.Node) -> bool:
    """The next operation gives the input `node` another shape: remember the one it has. False if
    that cannot be told to a backend, because the tensor is a part of another one, or was given the
    memory of another one (`.data`) and is no input any more."""
    entry = next((entry for entry in builder.inputs if entry.node is node), None)
    if entry is None:
        return False
    fake = node.meta["val"]
    if entry.as_it_came is None:
        if tensor_parts.is_view(fake) or not _is_whole(entry.example):
            return False
        with builder.fake:
            made = torch.empty_strided(
                fake.size(), fake.stride(), dtype=fake.dtype, device=fake.device
            )
        entry.as_it_came = made.requires_grad_(fake.requires_grad)
    return True


def _is_whole(tensor: torch.Tensor) -> bool:
    """Whether nothing of the memory of a tensor lies outside of it."""
    held = tensor.untyped_storage().nbytes()
    return tensor.storage_offset() == 0 and held == tensor.numel() * tensor.element_size()
