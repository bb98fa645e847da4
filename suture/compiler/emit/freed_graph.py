"""Tensors that leave a region in which backward() was called: the loss, and what it came from.

What their graph saved is freed: they are only good to raise what eager raises if backward() is
called again. A compiler would differentiate them when it compiles, which is no longer possible. So
the graph gives the numbers alone, and the variant makes a tensor of them that requires grad. What
differs from eager is the name of its `grad_fn`, and that no leaf is found above it by
`torch.autograd.grad`. Of two that share memory autograd would know that;
such are left to Python, unless one is the loss.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from suture.compiler.emit.writer import Writer
from suture.runtime.freed_graph import with_freed_graph
from suture.torch_private import tensor_parts


def write_freed(writer: Writer, builder: Any) -> list[str]:
    """Let the graph give tensors whose graph is freed without their history, and the lines that
    make them what they were."""
    lines: list[str] = []
    memory = Counter(_memory(node.meta.get("example_value")) for node in writer.outputs)
    for node in list(writer.outputs):
        value = node.meta.get("example_value")
        if value is None or not builder.derivatives.is_freed(value):
            continue
        if memory[_memory(value)] > 1 and id(value) not in builder.derivatives.losses:
            continue
        plain, _ = builder.call("call_method", "detach", (node,), {})
        name = writer.replace_output(node, plain)
        lines.append(f"    {name} = {writer.constant(with_freed_graph, 'freed')}({name})")
    return lines


def _memory(value: Any) -> int | None:
    """What tensors have in common that share memory; None for what has none."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    return tensor_parts.storage_key(value)
