"""The strides of what NumPy computes: torch's own NumPy lays out results as torch does.

NumPy itself is asked, with arrays of ones of the same strides; of large arrays with small ones
whose dimensions lie in memory in the same order. Where it gives new memory in another order, the
graph copies the result into that order, so that `view` and `is_contiguous` say what they say in
eager.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, Tensor
from suture.compiler.objects.array import Array, numpy_dtype
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.objects.slice_ import Slice
from suture.compiler.torch.array_agreement import Unknown, sample
from suture.torch_private.tensor_parts import storage_key

with contextlib.suppress(ImportError):  # torch works without it; nothing here is called then
    import numpy

_MOST = 4096  # elements of the arrays that NumPy is asked with
_SMALL = 3  # elements in each dimension of those that stand for larger ones


def as_numpy_lays_out(
    trace: Trace,
    call: Callable[..., Any],
    args: Sequence[Value],
    kwargs: dict[str, Value],
    made: Any,
) -> Any:
    """`made`, which torch's NumPy computed for such arguments, with the strides that NumPy's own
    `call` gives it. What shows memory of an argument is as it is."""
    if not isinstance(made, Array) or made.is_scalar or made.tensor.value.dim() < 2:
        return made
    operands = list(_arrays_in([*args, *kwargs.values()]))
    if not all(_is_known(a.tensor.value) for a in (made, *operands)):
        return made
    usual = all(_is_in_order(a.tensor.value) for a in operands)
    if (usual and not any(map(_picks, args[1:]))) or _shows_one_of(made, operands):
        return made
    strides = _strides_of(call, args, kwargs, made.tensor.value)
    if strides is not None and strides != made.tensor.value.stride():
        _lay_out(trace, made, strides)
    return made


def _arrays_in(values: Sequence[Any]) -> Any:
    for value in values:
        if isinstance(value, Array):
            if not value.is_scalar:
                yield value
        elif is_list_or_tuple(value):
            yield from _arrays_in(value.items)


def _is_known(value: Any) -> bool:
    return all(type(n) is int for n in (*value.shape, *value.stride()))


def _is_in_order(value: Any) -> bool:
    """Whether a tensor lies in memory as NumPy lays out a new array."""
    return bool(value.stride() == _dense(tuple(value.shape), range(value.dim())))


def _picks(key: Any) -> bool:
    """Whether an index lists places of a dimension: what it picks lies in an order of its own."""
    return is_list_or_tuple(key) or isinstance(key, Array)


def _shows_one_of(made: Array, operands: list[Array]) -> bool:
    memory = storage_key(made.tensor.value)
    return any(storage_key(operand.tensor.value) == memory for operand in operands)


def _dense(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of new memory whose dimensions lie in that order, the outermost first."""
    strides, step = [1] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def _order(strides: Sequence[int]) -> list[int]:
    return sorted(range(len(strides)), key=lambda dim: -strides[dim])


def _strides_of(
    call: Callable[..., Any], args: Sequence[Value], kwargs: dict[str, Value], value: Any
) -> tuple[int, ...] | None:
    """What NumPy gives a result of the shape of `value`; None if it does not say."""
    for small in (False, True):
        try:
            given = [_sample(a, small) for a in args]
            named = {k: _sample(v, small) for k, v in kwargs.items()}
            with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = call(*given, **named)
        except Exception:
            continue
        if not isinstance(result, numpy.ndarray) or result.ndim != value.dim():
            return None
        if any(step <= 0 for step in result.strides):
            return None  # a view, which torch has not
        strides = tuple(step // result.itemsize for step in result.strides)
        if result.shape == tuple(value.shape):
            return strides if value.numel() else None
        return _dense(tuple(value.shape), _order(strides))
    return None


def _sample(operand: Any, small: bool) -> Any:
    """An array of ones that lies in memory as the operand does, and is as large unless `small`."""
    if is_list_or_tuple(operand):
        return operand.kind([_sample(item, small) for item in operand.items])
    if isinstance(operand, Slice):
        return slice(*(_sample(part, small) for part in operand.parts))
    if not isinstance(operand, Array) or operand.is_scalar:
        return sample(operand)
    value = operand.tensor.value
    shape, strides = tuple(value.shape), value.stride()
    if small:
        shape = tuple(min(n, _SMALL) for n in shape)
        dense = _dense(shape, _order(strides))
        strides = tuple(step and new for step, new in zip(strides, dense))
    elif value.numel() > _MOST:
        raise Unknown
    span = 1 + sum(max(n - 1, 0) * step for n, step in zip(shape, strides))
    if span > _MOST * _MOST:
        raise Unknown
    ones = numpy.ones(span, numpy_dtype(value))
    steps = [step * ones.itemsize for step in strides]
    return numpy.lib.stride_tricks.as_strided(ones, shape, steps)


def _lay_out(trace: Trace, made: Array, strides: tuple[int, ...]) -> None:
    """Give the result those strides: by a copy, or only by name where no element moves."""
    shape = tuple(made.tensor.value.shape)
    moves = [n > 1 and a != b for n, a, b in zip(shape, strides, made.tensor.value.stride())]
    if any(moves):
        order = _order(strides)
        back = [order.index(dim) for dim in range(len(order))]
        _call(trace, made, "permute", [tuple(order)])
        _call(trace, made, "contiguous", [])
        _call(trace, made, "permute", [tuple(back)])
    if made.tensor.value.stride() != strides:
        _call(trace, made, "as_strided", [shape, strides])


def _call(trace: Trace, made: Array, method: str, args: list[Any]) -> None:
    values: list[Value] = [Constant(a) for a in args]
    tensor = abstract.add_node(trace, "call_method", method, [made.tensor, *values], {})
    assert isinstance(tensor, Tensor)
    made.tensor = tensor
