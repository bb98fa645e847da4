"""Errors of torch's kernels that its fake tensors do not raise.

A compiler would compute something where the program raises, and a result that nobody uses would not
be computed at all.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from suture.breaks import Break, tensors
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, Sequence, Symbol, Tensor
from suture.torch_private import operators

_SUBTRACTIONS: frozenset[Any] = frozenset(
    {operator.sub, operator.isub, torch.sub, torch.subtract, torch.rsub}
)
_SUBTRACTING_METHODS = frozenset(
    {"sub", "sub_", "subtract", "subtract_", "__sub__", "__rsub__", "__isub__"}
)


def refuse_what_eager_refuses(trace: Trace, op: str, target: Any, args: list[Value]) -> None:
    """Break where the operation raises whatever its numbers are: subtracting with truth values,
    multiplying tensors of a list by what their dtype cannot hold."""
    if target is operators.foreach_mul:
        _refuse_factors(trace, args)
        return
    if target not in (_SUBTRACTING_METHODS if op == "call_method" else _SUBTRACTIONS):
        return
    if any(isinstance(a, Tensor) for a in args) and any(map(_is_truth, args)):
        error = "RuntimeError: subtraction with a bool tensor is not supported"
        raise Break(tensors.FAKE_FAILED, operator="subtraction", error=error)


def _refuse_factors(trace: Trace, args: list[Value]) -> None:
    if len(args) != 2 or not isinstance(args[0], Sequence):
        return
    targets, given = args[0].unpacked(trace), args[1]
    factors = given.unpacked(trace) if isinstance(given, Sequence) else [given] * len(targets)
    for tensor, factor in zip(targets, factors):
        if isinstance(tensor, Tensor) and isinstance(factor, (Tensor, Constant, Symbol)):
            kind = torch.result_type(_example(tensor), _example(factor))
            if not torch.can_cast(kind, tensor.value.dtype):
                error = f"RuntimeError: a product of {kind} in a tensor of {tensor.value.dtype}"
                raise Break(tensors.FAKE_FAILED, operator="_foreach_mul_", error=error)


def _example(value: Any) -> Any:
    """A tensor or a number of the same kind."""
    if isinstance(value, Tensor):
        return torch.empty((1,) * value.value.dim(), dtype=value.value.dtype)
    return value.python_type()() if isinstance(value, Symbol) else value.as_proxy()


def _is_truth(value: Any) -> bool:
    if isinstance(value, Tensor):
        return bool(value.value.dtype is torch.bool)
    return isinstance(value, (Constant, Symbol)) and value.python_type() is bool
