"""Which of the inputs that a graph writes to can be put back, should it have run for nothing."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from suture.compiler.graph.builder import GraphBuilder, GraphInput, was_written
from suture.op_effects import written_by
from suture.runtime.checks import span_in_bytes
from suture.torch_private.tensor_parts import storage_key

_MOST = 1 << 20  # bytes that are worth a copy in every call


def undoable(builder: GraphBuilder) -> list[GraphInput] | None:
    """The inputs that the graph writes to; None if some of them could not be put back, or only at
    a cost. Running statistics, of which torch keeps no version, are among them."""
    direct = _written_directly(builder.graph)
    written = []
    if direct or builder.writes_inputs():
        tensors = [(e, e.node.meta["val"]) for e in builder.inputs if not e.made]
        tensors = [(e, fake) for e, fake in tensors if isinstance(fake, torch.Tensor)]
        memory = {_memory(node.meta.get("example_value")) for node in direct} - {None}
        memory |= {_memory(fake) for e, fake in tensors if e.node in direct or was_written(fake)}
        written = [e for e, fake in tensors if _memory(fake) in memory]
    if not all(_is_plain(entry) for entry in written):
        return None
    size = sum(span_in_bytes(entry.example) for entry in written)
    return written if size <= _MOST else None


def writes_own_memory_only(builder: GraphBuilder) -> bool:
    """Whether all that the graph writes to is made in it, so that it may run in vain."""
    return undoable(builder) == []


def _is_plain(entry: GraphInput) -> bool:
    """Whether numbers, and where they lie in its memory, are all that a graph can change of an
    input."""
    fake, real = entry.node.meta["val"], entry.example
    if entry.source is None or entry.convert is not None:
        return False
    if type(real) not in (torch.Tensor, torch.nn.Parameter):
        return False
    if fake.is_inference() or fake.layout is not torch.strided or fake.is_quantized:
        return False
    if not all(isinstance(n, int) for n in (*fake.shape, *fake.stride())):
        return False
    same = tuple(fake.shape) == tuple(real.shape) and tuple(fake.stride()) == real.stride()
    same = same or entry.as_it_came is not None  # which keeps all of its memory
    # of a fake view that was written in inference mode torch does not know whether it is a leaf
    return same and (not fake.requires_grad or (real.requires_grad and real.is_leaf))


def _memory(fake: Any) -> int | None:
    """Which memory a fake tensor is in; None if it has none of its own."""
    plain = isinstance(fake, torch.Tensor) and fake.layout is torch.strided
    return storage_key(fake) if plain else None


def _written_directly(graph: Any) -> set[Any]:
    """What operations write themselves. Torch keeps no version of some of it: of the running
    statistics of a normalisation, of inputs that are written through `.data`."""
    return {written for node in graph.nodes for written in written_by(node)}
