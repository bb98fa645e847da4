"""Graphs that write to tensors with several elements at one place."""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler.graph.builder import GraphBuilder
from suture.op_effects import written_by


def writes_overlapping(builder: GraphBuilder) -> bool:
    """Whether the graph writes to a tensor with several elements at one place, with an operation
    that eager mode does not refuse. Compilers make a write the computation of a new tensor, which
    they take back to the memory of the old one as if each element had its own place."""
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
