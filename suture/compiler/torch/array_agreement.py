"""Whether torch's NumPy gives what NumPy gives: dtype, scalar or array, several results or one.

NumPy itself is asked, with arrays of ones of the same dtypes and of like shapes: what it makes of
those it makes of all, since the kind of a result does not depend on the numbers. Where it cannot be
asked (it refuses such shapes, or an operand is nothing that is known) torch's answer is taken.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

from suture.compiler.objects import Constant, List, Symbol, Tuple
from suture.compiler.objects.array import Array, numpy_dtype

with contextlib.suppress(ImportError):  # torch works without it; nothing here is called then
    import numpy

_MOST = 4  # elements in each dimension of an array that NumPy is asked with


class Unknown(Exception):
    """There is no sample of an operand."""


def differs(call: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], made: Any) -> bool:
    """Whether NumPy's own `call` gives another kind of result for such arguments than `made`."""
    try:
        samples = [sample(a) for a in args]
        named = {k: sample(v) for k, v in kwargs.items()}
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = call(*samples, **named)
    except Exception:
        return False
    return _is_another(result, made)


def sample(operand: Any) -> Any:
    """A value of the operand's kind."""
    if isinstance(operand, Array):
        dtype = numpy_dtype(operand.tensor.value)
        if operand.is_scalar:
            return dtype.type(1)
        shape = operand.tensor.value.shape
        return numpy.ones([n if type(n) is int and n < _MOST else _MOST for n in shape], dtype)
    if isinstance(operand, Symbol):
        return operand.python_type()(1)
    if isinstance(operand, Constant):
        return operand.value
    if type(operand) in (List, Tuple):
        return (list if type(operand) is List else tuple)(map(sample, operand.items))
    try:
        real = operand.real()
    except (LookupError, AttributeError):
        raise Unknown from None
    if isinstance(real, (numpy.dtype, type)):
        return real
    raise Unknown


def of_one_kind(items: list[Any]) -> bool:
    """Whether all are arrays, of one dtype and shape."""
    if not all(isinstance(item, Array) for item in items):
        return False
    return len({(i.tensor.value.dtype, tuple(i.tensor.value.shape)) for i in items}) == 1


def _is_another(result: Any, made: Any) -> bool:
    if isinstance(made, (List, Tuple)):
        items = made.items
        several = isinstance(result, (list, tuple)) and len(result) == len(items)
        return not several or any(map(_is_another, result, items))
    if not isinstance(made, Array):
        return isinstance(result, (type, list, tuple, numpy.ndarray))
    if not isinstance(result, (numpy.ndarray, numpy.generic)):
        return True
    value = made.tensor.value
    scalar = isinstance(result, numpy.generic)
    same = result.dtype == numpy_dtype(value) and result.ndim == value.dim()
    return not same or scalar is not made.is_scalar
