"""Writes to tensors that have several elements at one place in memory, such as expanded ones."""

from __future__ import annotations

from typing import Any

import torch

from suture.op_effects import written_by


def writes_overlapping(builder: Any) -> bool:
    """Whether the graph writes to such a tensor. Eager mode refuses most of these writes, and does
    others element by element. Compilers make a write the computation of a new tensor, which they
    take back to the memory of the old one as if each element had its own place: there is no error,
    and another result."""
    if not builder.writes():
        return False
    return any(_overlaps(at) for node in builder.graph.nodes for at in written_by(node))


def _overlaps(node: torch.fx.Node) -> bool:
    value = node.meta.get("example_value", node.meta.get("val"))
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    sizes, strides = list(value.shape), list(value.stride())
    dims = [(stride, size) for size, stride in zip(sizes, strides) if not _is(size, 1)]
    if any(_is(size, 0) for size in sizes):
        return False
    if any(_is(stride, 0) for stride, _ in dims):
        return True
    if any(type(n) is not int for dim in dims for n in dim):
        return False  # strides that are symbols are products of sizes
    reach = 0
    for stride, size in sorted(dims):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _is(number: Any, expected: int) -> bool:
    return type(number) is int and number == expected
