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

from suture.compiler.core import Value
from suture.compiler.objects import Constant, List, Symbol, Tuple
from suture.compiler.objects.array import Array, numpy_dtype
from suture.compiler.objects.sequence import is_list_or_tuple

with contextlib.suppress(ImportError):  # torch works without it; nothing here is called then
    import numpy

    _INTEGERS = (int, *(numpy.dtype(code).type for code in "bhilqBHILQ"))

_MOST = 4  # elements in each dimension of an array that NumPy is asked with


class Unknown(Exception):
    """There is no sample of an operand."""


def differs(
    call: Callable[..., Any], args: list[Value], kwargs: dict[str, Value], made: Any
) -> bool:
    """Whether NumPy's own `call` gives another kind of result for such arguments than `made`."""
    try:
        samples = [sample(a) for a in args]
        named = {k: sample(v) for k, v in kwargs.items()}
    except Unknown:
        return False
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = call(*samples, **named)
    except (TypeError, OverflowError):
        return True  # NumPy refuses such kinds
    except Exception:
        return all(map(_is_exact, (*args, *kwargs.values())))  # else it may be the sample's shape
    return _is_another(result, made)


def has_other_numbers(name: str, operands: list[Any]) -> bool:
    """Whether torch's NumPy gives other numbers than NumPy for some numbers of such kinds: of a NaN
    or a negative zero, of a negative number next to an unsigned array; or raises where NumPy gives
    numbers, as of a division of integers by zero."""
    kinds = [numpy_dtype(o.tensor.value).kind for o in operands if isinstance(o, Array)]
    if name in _OTHER_NUMBERS:
        return True
    if name in _OTHER_OF_FLOATS:
        return any(kind in "fc" for kind in kinds)
    if name in _OTHER_OF_COMPLEX and any(map(_is_complex, operands)):
        return True
    if name in _DIVISIONS and all(kind in "biu" for kind in kinds):
        return not _divides(operands[1]) if len(operands) > 1 else True
    if name == "subtract":
        return "b" in kinds  # torch refuses it, also next to numbers
    if name in ("round", "around"):  # to tens and hundreds
        return len(operands) > 1 and all(kind in "biu" for kind in kinds)
    if name in _POWERS and all(kind in "biu" for kind in kinds):
        exponent = operands[1] if len(operands) > 1 else None
        if isinstance(exponent, Constant) and isinstance(exponent.value, int):
            return exponent.value < 0  # NumPy raises
        return not isinstance(exponent, Constant)
    return name in _OF_BOUNDS and any(kind in "iu" for kind in kinds) and not _fit(operands)


def _fit(operands: list[Any]) -> bool:
    """Whether the numbers next to arrays of integers are of the arrays' ranges."""
    arrays = [numpy.iinfo(numpy_dtype(o.tensor.value)) for o in operands if _is_of_integers(o)]
    lowest, highest = max(a.min for a in arrays), min(a.max for a in arrays)
    for operand in operands:
        if isinstance(operand, Symbol) and operand.python_type() is int:
            if (lowest, highest) != (-(2**63), 2**63 - 1):
                return False
        elif isinstance(operand, Constant) and type(operand.value) in _INTEGERS:
            if not lowest <= operand.value <= highest:
                return False
    return True


def _is_complex(operand: Any) -> bool:
    if isinstance(operand, Array):
        return bool(numpy_dtype(operand.tensor.value).kind == "c")
    return isinstance(operand, Constant) and isinstance(operand.value, complex)


def _divides(divisor: Any) -> bool:
    """Whether a divisor is known not to be zero."""
    return isinstance(divisor, Constant) and bool(divisor.value)


def _is_of_integers(operand: Any) -> bool:
    return isinstance(operand, Array) and numpy_dtype(operand.tensor.value).kind in "iu"


_OTHER_NUMBERS = frozenset(
    ["fix", "modf", "cbrt", "angle", "lcm", "histogram", "histogram2d", "histogramdd"]
)
_OTHER_OF_FLOATS = frozenset(["sign", "heaviside", "unique"])
_POWERS = frozenset(["power", "pow", "ipow", "__pow__"])
_COMPARISONS = frozenset(["lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal"])
_OF_BOUNDS = _COMPARISONS | {"clip"}
_OTHER_OF_COMPLEX = _COMPARISONS | _POWERS
_DIVISIONS = frozenset(
    ["floordiv", "ifloordiv", "mod", "imod", "divmod", "floor_divide", "remainder", "fmod"]
)


def _is_exact(operand: Any) -> bool:
    """Whether the sample of an operand has its shape, and is it where it is a number."""
    if isinstance(operand, Array):
        return all(type(n) is int and n <= _MOST for n in operand.tensor.value.shape)
    if is_list_or_tuple(operand):
        return all(map(_is_exact, operand.items))
    return not isinstance(operand, Symbol)


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
    if is_list_or_tuple(operand):
        return operand.kind(map(sample, operand.items))
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
