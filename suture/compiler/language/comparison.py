"""Comparison: `==`, `<`, `is`, and the equality that containers use."""

from __future__ import annotations

import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.operands import spreads_over
from suture.compiler.language.operators import (
    COMPARE,
    DEFAULT_COMPARE,
    as_number,
    as_operand,
    known_value,
    special_method,
    truth_of,
    without_symbols,
)
from suture.compiler.objects import (
    Address,
    Builtin,
    Constant,
    ConstantMethod,
    Method,
    Object,
    Sequence,
    Symbol,
    Tensor,
    Tuple,
)
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.methods import find_method
from suture.compiler.outside.identity import is_same

_BOUND = (Method, BoundMethod, ConstantMethod)


@implements(abstract.compare)
def compare_values(trace: Trace, symbol: str, left: Any, right: Any) -> Value:
    return _compare(trace, symbol, left, right, (left, right))


def _compare(trace: Trace, symbol: str, left: Any, right: Any, named: tuple[Value, Value]) -> Value:
    """The same, where an error names the types of `named`: of the objects whose parts these are."""
    if isinstance(left, Address) or isinstance(right, Address):
        if symbol in ("==", "!=") and isinstance(left, Address) and isinstance(right, Address):
            return Constant(is_same(trace, left.owner, right.owner) is (symbol == "=="))
        left, right = as_number(trace, left), as_number(trace, right)
    real, forward, backward = COMPARE[symbol]
    done = abstract.own_operator(trace, real.__name__, left, right)
    if done is not None:
        return done
    left, right = as_operand(trace, left, right, forward), as_operand(trace, right, left)
    if isinstance(left, (Tensor, Symbol)) or isinstance(right, (Tensor, Symbol)):
        done = abstract.graph_compare(trace, symbol, left, right)
        if done is not None:
            return done
        if symbol in ("==", "!=") and _never_equal(left, right):
            return Constant(symbol == "!=")
        left, right = without_symbols(trace, left), without_symbols(trace, right)
    if left.is_constant() and right.is_constant():
        return abstract.fold(trace, real, [left, right], {})
    if isinstance(left, _BOUND) and isinstance(right, _BOUND) and symbol in ("==", "!="):
        return Constant(_same_method(trace, left, right) is (symbol == "=="))
    if isinstance(left, Builtin) and isinstance(right, Builtin) and symbol in ("==", "!="):
        return Constant(bool(real(left.value, right.value)))
    if spreads_over(left, right) or spreads_over(right, left):
        operands = f"{left.describe()}, {right.describe()}"
        raise Break(objects.UNKNOWN_OPERATOR, operator=symbol, operands=operands)
    ours, theirs = _compared_part(trace, left, forward), _compared_part(trace, right, backward)
    if isinstance(ours, Sequence) and isinstance(theirs, Sequence):
        done = compare_sequences(trace, symbol, ours, theirs)
        if done is not None:
            return done
    if (ours is not left or theirs is not right) and not isinstance(ours, Object):
        if not isinstance(theirs, Object):
            return _compare(trace, symbol, ours, theirs, named)
    done = _rich_compare(trace, forward, backward, left, right)
    if done is not None:
        return done
    if symbol in ("==", "!="):
        return Constant(is_same(trace, left, right) is (symbol == "=="))
    kinds = [value.python_type() for value in named]
    return abstract.raise_(
        trace,
        TypeError,
        f"'{symbol}' not supported between instances of '{type_name(kinds[0])}' and"
        f" '{type_name(kinds[1])}'",
    )


def _same_method(trace: Trace, left: Any, right: Any) -> bool:
    """Bound methods are equal if they are one function of one object."""
    if type(left) is not type(right) or not is_same(trace, left.owner, right.owner):
        return False
    if isinstance(left, Method):
        return same_or_equal(trace, left.fn, right.fn)
    return bool(left.name == right.name)


def _rich_compare(
    trace: Trace, forward: str, backward: str, left: Value, right: Value
) -> Value | None:
    kinds = left.python_type(), right.python_type()
    order = [(left, forward, right), (right, backward, left)]
    if kinds[0] is not kinds[1] and kinds[0] in kinds[1].__mro__:
        order.reverse()
    for obj, method, other in order:
        if isinstance(obj, Object) and _compares_by_identity(trace, obj, method):
            continue
        if obj.is_constant() and find_method(type(obj), method) is None:
            continue
        done = special_method(trace, obj, method, other)
        if done is not None:
            return done
    return None


def _compares_by_identity(trace: Trace, obj: Object, method: str) -> bool:
    """Whether the class leaves the comparison to `object`, whose != calls ==."""
    if abstract.type_lookup(trace, obj.cls, method) not in DEFAULT_COMPARE:
        return False
    return method != "__ne__" or abstract.type_lookup(trace, obj.cls, "__eq__") in DEFAULT_COMPARE


def _compared_part(trace: Trace, obj: Value, method: str) -> Any:
    """What a comparison looks at: the builtin part of an object whose class leaves it so."""
    if isinstance(obj, Object) and obj.storage is not None:
        found = abstract.type_lookup(trace, obj.cls, method)
        if isinstance(found, types.FunctionType) or found in DEFAULT_COMPARE:
            return obj
    return builtin_part(trace, obj)


@implements(abstract.builtin_part)
def builtin_part(trace: Trace, obj: Value) -> Value:
    if isinstance(obj, Object) and obj.storage is not None:
        return builtin_part(trace, obj.storage)
    if type(obj) is Constant and type(obj.value) is tuple:
        return Tuple([known_value(trace, v) for v in obj.value])
    if type(obj) is Constant and type(obj.value) is frozenset:
        return abstract.known_set(trace, obj.value)
    return obj


def compare_sequences(trace: Trace, symbol: str, left: Any, right: Any) -> Value | None:
    related = issubclass(left.kind, right.kind) or issubclass(right.kind, left.kind)
    if not related:
        return None
    if symbol in ("==", "!=") and issubclass(left.kind, list):
        if len(left.items) != len(right.items):
            return Constant(symbol == "!=")
    for a, b in zip(left.unpacked(trace), right.unpacked(trace)):
        if not same_or_equal(trace, a, b):
            if symbol in ("==", "!="):
                return Constant(symbol == "!=")
            return compare_values(trace, symbol, a, b)
    return abstract.fold(
        trace, COMPARE[symbol][0], [Constant(len(left.items)), Constant(len(right.items))], {}
    )


@implements(abstract.same_or_equal)
def same_or_equal(trace: Trace, left: object, right: object) -> bool:
    if not _is_equal_to_itself(left, right) and is_same(trace, left, right):
        return True
    return truth_of(trace, compare_values(trace, "==", left, right))


def _is_equal_to_itself(left: object, right: object) -> bool:
    """Whether `==` of two operands is True if they are one object: a number that may change is
    then compared with the other, and which object it is, is not asked for. A NaN is not."""
    if isinstance(left, Symbol) and left.python_type() is int:
        return isinstance(right, (Symbol, Constant))
    if isinstance(right, Symbol) and right.python_type() is int:
        return isinstance(left, Constant)
    one, other = (left, right) if isinstance(left, Symbol) else (right, left)
    if not isinstance(one, Symbol) or not isinstance(other, Constant):
        return False
    return type(other.value) in (int, float, bool, str, type(None)) and other.value == other.value


def _never_equal(left: object, right: object) -> bool:
    """Whether one operand is a number that may change, and the other no number at all."""
    one, other = (left, right) if isinstance(left, Symbol) else (right, left)
    known = isinstance(other, Constant) and type(other.value) in (str, tuple, type(None))
    return isinstance(one, Symbol) and known
