"""Errors of torch's kernels that its fake tensors do not raise.

A compiler would compute something where the program raises, and a result that nobody uses would not
be computed at all.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from suture.breaks import Break, tensors
from suture.compiler.core import Value
from suture.compiler.objects import Constant, Symbol, Tensor

_SUBTRACTIONS: frozenset[Any] = frozenset(
    {operator.sub, operator.isub, torch.sub, torch.subtract, torch.rsub}
)
_SUBTRACTING_METHODS = frozenset(
    {"sub", "sub_", "subtract", "subtract_", "__sub__", "__rsub__", "__isub__"}
)


def refuse_what_eager_refuses(op: str, target: Any, args: list[Value]) -> None:
    """Break where the operation raises whatever its numbers are: subtracting with truth values."""
    if target not in (_SUBTRACTING_METHODS if op == "call_method" else _SUBTRACTIONS):
        return
    if any(isinstance(a, Tensor) for a in args) and any(map(_is_truth, args)):
        error = "RuntimeError: subtraction with a bool tensor is not supported"
        raise Break(tensors.FAKE_FAILED, operator="subtraction", error=error)


def _is_truth(value: Any) -> bool:
    if isinstance(value, Tensor):
        return bool(value.value.dtype is torch.bool)
    return isinstance(value, (Constant, Symbol)) and value.python_type() is bool
