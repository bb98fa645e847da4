"""Indices that are in range because of how they were made: from `nonzero`, `topk`, `argmax` and
their kin, for a dimension that is as long as the one they were made of."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from suture.compiler.graph.known_numbers import number_of
from suture.op_kinds import MOVING, plain_name
from suture.torch_private.tensor_parts import version_of

_DEEPEST = 16


def is_in_range(node: torch.fx.Node, name: str) -> bool:
    """Whether the indices that an operation is given cannot be out of range. `name` is that of
    the operation, without underscores."""
    if name == "one_hot":
        return _classes_fit(node)
    if len(node.args) < 2 or not isinstance(node.args[0], torch.fx.Node):
        return False
    value = node.args[0].meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return isinstance(node.args[1], int)  # one of several results
    if name in ("getitem", "setitem"):
        return _key_in_range(value, node.args[1])
    if name in ("index_add", "index_select", "index_copy", "index_fill") and len(node.args) > 2:
        return _fits(value, node.args[1], node.args[2])
    return False


def _classes_fit(node: torch.fx.Node) -> bool:
    """Whether the numbers that one_hot is given are below the number of classes it is told."""
    classes = node.args[1] if len(node.args) > 1 else node.kwargs.get("num_classes")
    given = node.args[0] if node.args else None
    bound = _bound(given, _DEEPEST) if isinstance(given, torch.fx.Node) else None
    return type(classes) is int and type(bound) is int and bound <= classes


def _key_in_range(value: torch.Tensor, key: Any) -> bool:
    """Whether the tensors of integers in a key are in range."""
    dim = 0
    parts = key if isinstance(key, (tuple, list)) else (key,)
    for part in parts:
        if part is None:
            continue
        if part is Ellipsis:
            return not any(isinstance(p, torch.fx.Node) for p in parts)
        if isinstance(part, torch.fx.Node):
            index = part.meta.get("example_value")
            if not isinstance(index, torch.Tensor):
                return False
            if index.dtype is torch.bool:
                dim += index.dim()
                continue
            if not _fits(value, dim, part):
                return False
        dim += 1
    return True


def _fits(value: torch.Tensor, dim: Any, index: Any) -> bool:
    if type(dim) is not int or not -value.dim() <= dim < value.dim():
        return False
    bound = _bound(index, _DEEPEST) if isinstance(index, torch.fx.Node) else None
    size = value.shape[dim]
    return type(bound) is int and type(size) is int and bound <= size


def bound_of(node: torch.fx.Node) -> int | None:
    """A number that all numbers in a tensor are below, and none is negative; None if nothing is
    known."""
    return _bound(node, _DEEPEST)


def _bound(node: torch.fx.Node, left: int, index: int | None = None) -> int | None:
    """A number that all numbers in a tensor of indices are below, and none is negative; None if
    nothing is known. `index`: which result is meant, where there are several."""
    known = number_of(node.meta.get("example_value"))
    if type(known) is int:
        return known + 1 if known >= 0 else None
    base = node.args[0] if node.args else None
    if not left or not isinstance(base, torch.fx.Node) or _is_written(node):
        return None
    name = plain_name(node)
    if name == "to" and not _keeps_numbers(node):
        return None
    value = base.meta.get("example_value")
    if name == "getitem":
        if not isinstance(value, torch.Tensor):
            return _bound(base, left - 1, node.args[1] if type(node.args[1]) is int else None)
        return _bound(base, left - 1)
    if not isinstance(value, torch.Tensor):
        return _bound(base, left - 1, index) if name in MOVING else None
    if name == "one_hot":
        return 2
    sizes = list(value.shape)
    if name in ("nonzero", "where") and len(node.args) == 1:
        as_tuple = name == "where" or bool(node.kwargs.get("as_tuple"))
        if as_tuple and index is not None:
            sizes = sizes[index : index + 1]
        return _largest(sizes)
    if name in ("max", "min", "sort", "topk", "kthvalue") and index == 1:
        return _largest(_along(node, name, sizes) or sizes)
    if name in ("argmax", "argmin", "argsort"):
        return _largest(_along(node, name, sizes) or [value.numel()])
    return _bound(base, left - 1, index) if name in MOVING and index is None else None


# Where the dimension is among the arguments, and what it is where none is given.
_DIMENSION = {
    "max": (1, None), "min": (1, None), "sort": (1, -1), "argsort": (1, -1),
    "argmax": (1, None), "argmin": (1, None), "topk": (2, -1), "kthvalue": (2, -1),
}  # fmt: skip


def _along(node: torch.fx.Node, name: str, sizes: list[Any]) -> list[Any] | None:
    """The size of the dimension in which an operation finds places, as a list; None if it is not
    plain which one that is."""
    at, default = _DIMENSION[name]
    dim = node.args[at] if len(node.args) > at else node.kwargs.get("dim", default)
    if type(dim) is not int or "axis" in node.kwargs or not -len(sizes) <= dim < len(sizes):
        return None
    return [sizes[dim]]


def _largest(sizes: list[Any]) -> int | None:
    known = [size for size in sizes if type(size) is int]
    return max(known) if known and len(known) == len(sizes) else None


def _keeps_numbers(node: torch.fx.Node) -> bool:
    """Whether an operation gives integers of a kind that every index fits into."""
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and value.dtype in (torch.int64, torch.int32)


def _is_written(node: torch.fx.Node) -> bool:
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and (value.is_inference() or bool(version_of(value)))
