"""Operators that have no kernel for the dtypes of their arguments, such as a bitwise one of floats.
torch's kernels for fake tensors do not know; the graph would raise when it runs, after it has
written what stands in front of it. Kernels for the CPU are asked with a number of each dtype."""

from __future__ import annotations

import functools
from typing import Any

import torch

from suture.torch_private import operators

_BITWISE = "aten::bitwise_"


def refuse_dtypes(func: Any, args: Any, kwargs: Any) -> None:
    """Raise, if an operator on the CPU refuses numbers of these dtypes."""
    check = _check_of(func)
    if check is None:
        return
    tensors = [v for v in args if isinstance(v, torch.Tensor)]
    if any(t.device.type != "cpu" or t.layout is not torch.strided for t in tensors):
        return
    check(func, args, kwargs, tensors)


def _ask(func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> None:
    floats = [t.dtype.is_floating_point for t in tensors]
    if kwargs or not (any(floats) if _is_bitwise(func) else not all(floats)):
        return
    error = _error(func, tuple(map(_kind, args)))
    if error is not None:
        raise RuntimeError(error)


def _kind(value: Any) -> Any:
    """What an argument is to a kernel: a dtype and whether it has dimensions, or the type of a
    number; () for what else there is."""
    if isinstance(value, torch.Tensor):
        return value.dtype, min(value.dim(), 1)
    kinds = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
    kind = kinds.get(type(value), type(value))
    return kind if value is None or kind in (bool, int, float, complex) else ()


@functools.cache
def _error(func: Any, kinds: tuple[Any, ...]) -> str | None:
    """What the operator says to ones of such kinds, if it refuses them."""
    if () in kinds:
        return None
    try:
        func(*[_one(kind) for kind in kinds])
    except Exception as error:
        return str(error)
    return None


def _one(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return torch.ones((1,) * kind[1], dtype=kind[0], device="cpu")
    return None if kind is type(None) else kind(1)


def _index_add(func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> None:
    if len(tensors) == 3 and tensors[0].dtype != tensors[2].dtype:
        raise RuntimeError("index_add: self and source must have the same scalar type")


def _extreme(func: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> None:
    if tensors[0].dtype is torch.bool:
        raise RuntimeError("argmax and argmin do not support bool input")


@functools.cache
def _check_of(func: Any) -> Any:
    """The check that an operator needs, or None."""
    schema = operators.schema_of(func)
    name = schema.name if schema is not None else ""
    if name in ("aten::index_add", "aten::index_add_"):
        return _index_add
    if name in ("aten::argmax", "aten::argmin"):
        return _extreme
    tags = getattr(func, "tags", ())
    computes = torch.Tag.pointwise in tags and torch.Tag.nondeterministic_seeded not in tags
    return _ask if computes and name.startswith("aten::") else None


@functools.cache
def _is_bitwise(func: Any) -> bool:
    return bool(operators.schema_of(func).name.startswith(_BITWISE))
