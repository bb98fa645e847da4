"""Fake values: what nodes stand for while an operation runs on them, and what it gave."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from suture.torch_private import tensor_parts


def value_of(argument: Any) -> Any:
    """An argument of an operation, with the fake values of the nodes in it."""
    kind = type(argument)
    if kind is torch.fx.Node:
        return argument.meta["example_value"]
    return argument if kind in _WITHOUT_NODES else torch.fx.map_arg(argument, _value)


def _value(node: torch.fx.Node) -> Any:
    return node.meta["example_value"]


_WITHOUT_NODES = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device})
_QUANTIZED = (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4)


def is_quantized(value: Any) -> bool:
    """Whether a result is a quantized tensor, or holds one."""
    if isinstance(value, torch.Tensor):
        return value.dtype in _QUANTIZED
    return any(isinstance(v, torch.Tensor) and v.dtype in _QUANTIZED for v in tree_leaves(value))


def tree_leaves(value: Any) -> list[Any]:
    """The leaves of a result as torch's pytree sees it."""
    leaves: list[Any] = tensor_parts.pytree.tree_leaves(value)
    return leaves
