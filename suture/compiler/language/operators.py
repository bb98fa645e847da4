"""Operators, comparisons, truth, items."""

from __future__ import annotations

import operator
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow, objects
from suture.bytecode import language
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language import templates
from suture.compiler.language.attributes import MISSING
from suture.compiler.language.conversions import wrap_known
from suture.compiler.language.operands import reflected_first, repeats, unsupported
from suture.compiler.language.to_text import format_percent
from suture.compiler.objects import (
    Address,
    Builtin,
    Class,
    Constant,
    Object,
    Opaque,
    Refused,
    Sequence,
    Symbol,
    Tensor,
    Tuple,
    instance,
)
from suture.compiler.objects import array as array_values
from suture.compiler.objects.array import Array
from suture.compiler.objects.methods import find_method
from suture.rules.wrapped import C_CALLABLES

# operator-module name -> (special method, reflected special method)
BINARY: dict[str, tuple[str, str]] = {
    "add": ("__add__", "__radd__"),
    "sub": ("__sub__", "__rsub__"),
    "mul": ("__mul__", "__rmul__"),
    "truediv": ("__truediv__", "__rtruediv__"),
    "floordiv": ("__floordiv__", "__rfloordiv__"),
    "mod": ("__mod__", "__rmod__"),
    "pow": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "lshift": ("__lshift__", "__rlshift__"),
    "rshift": ("__rshift__", "__rrshift__"),
    "and_": ("__and__", "__rand__"),
    "or_": ("__or__", "__ror__"),
    "xor": ("__xor__", "__rxor__"),
    "divmod": ("__divmod__", "__rdivmod__"),
}
COMPARE: dict[str, tuple[Any, str, str]] = {
    "<": (operator.lt, "__lt__", "__gt__"),
    "<=": (operator.le, "__le__", "__ge__"),
    "==": (operator.eq, "__eq__", "__eq__"),
    "!=": (operator.ne, "__ne__", "__ne__"),
    ">": (operator.gt, "__gt__", "__lt__"),
    ">=": (operator.ge, "__ge__", "__le__"),
}
UNARY: dict[str, str] = {
    "neg": "__neg__",
    "pos": "__pos__",
    "invert": "__invert__",
    "abs": "__abs__",
}


_UNARY_TEXT = {"neg": "unary -", "pos": "unary +", "invert": "unary ~", "abs": "abs()"}


def real_operator(name: str) -> Any:
    return divmod if name == "divmod" else getattr(operator, name)


# ---- known values


@implements(abstract.constant_value)
def constant_value(trace: Trace, variable: Any) -> Any:
    return variable.constant() if variable.is_constant() else variable.as_constant(trace)


@implements(abstract.integer)
def integer_of(trace: Trace, variable: Any) -> int:
    if variable.is_constant() and hasattr(variable.constant(), "__index__"):
        return operator.index(variable.constant())
    kind = variable.python_type()
    if not variable.is_constant() and hasattr(kind, "__index__"):
        what = variable.describe()
        raise Break(objects.UNKNOWN_OBJECT, operation="use as an index", object=what)
    text = f"'{kind.__name__}' object cannot be interpreted as an integer"
    return abstract.raise_(trace, TypeError, text)


@implements(abstract.integer, Object)
def _integer_of_object(trace: Trace, variable: Object) -> int:
    storage = variable.storage
    if isinstance(storage, Constant) and isinstance(storage.value, int):
        return operator.index(storage.value)
    if abstract.type_lookup(trace, variable.cls, "__index__") is MISSING:
        text = f"'{type_name(variable.cls)}' object cannot be interpreted as an integer"
        return abstract.raise_(trace, TypeError, text)
    given = abstract.finish(trace, abstract.call_type_method(trace, variable, "__index__", [], {}))
    kind = given.python_type()
    if not issubclass(kind, int):
        said = language.wrong_result(variable.cls, "__index__", kind)
        return abstract.raise_(trace, TypeError, said)
    if isinstance(given, Object):  # of a class derived from int: Python warns
        what = variable.describe()
        raise Break(objects.UNKNOWN_OBJECT, operation="use as an index", object=what)
    return abstract.integer(trace, given)


@implements(abstract.known)
def known_value(trace: Trace, value: object) -> Value:
    return wrap_known(trace, value)


# ---- truth


@implements(abstract.truth)
def truth_of(trace: Trace, variable: Any) -> bool:
    known = variable.truth(trace)
    if known is None:
        if isinstance(variable, Tensor):
            raise Break(control_flow.TENSOR_BRANCH, tensor=variable.describe())
        raise Break(control_flow.UNKNOWN_TRUTH, value=variable.describe())
    return bool(known)


@implements(abstract.to_bool)
def to_bool(trace: Trace, variable: object) -> Value:
    return Constant(truth_of(trace, variable))


@implements(abstract.negate)
def negate_truth(trace: Trace, variable: object) -> Value:
    return Constant(not truth_of(trace, variable))


@implements(instance.object_truth)
def object_truth(trace: Trace, obj: Object) -> bool:
    cls = obj.cls
    for name in ("__bool__", "__len__"):
        raw = abstract.type_lookup(trace, cls, name)
        if raw is not MISSING:
            if isinstance(obj.storage, Constant) and not isinstance(raw, types.FunctionType):
                return bool(obj.storage.value)
            return _truth_by_method(trace, obj, name)
    return True


def _truth_by_method(trace: Trace, obj: Object, name: str) -> bool:
    try:
        if name == "__len__":
            return truth_of(trace, abstract.length(trace, obj))
        told = abstract.finish(trace, abstract.call_type_method(trace, obj, name, [], {}))
        kind = told.python_type()
        if kind is not bool:
            abstract.raise_(trace, TypeError, language.wrong_result(obj.cls, "__bool__", kind))
        return truth_of(trace, told)
    except Break as reason:
        raise Break(control_flow.UNKNOWN_TRUTH, value=obj.describe()) from reason


# ---- unary and binary operators


def as_number(trace: Trace, value: object) -> Any:
    return Constant(value.number(trace)) if type(value) is Address else value


def unary_operator(trace: Trace, name: str, value: Any) -> Value:
    value = as_number(trace, value)
    done = abstract.own_operator(trace, name, value)
    if done is not None:
        return done
    if name == "pos" and isinstance(value, Symbol) and value.python_type() is not bool:
        return value  # Python gives the number itself
    if isinstance(value, (Tensor, Symbol)):
        return abstract.call_torch(trace, real_operator(name), [value], {})
    if value.is_constant():
        return abstract.fold(trace, real_operator(name), [value], {})
    if abstract.type_lookup(trace, value.python_type(), UNARY[name]) is MISSING:
        kind, symbol = type_name(value.python_type()), _UNARY_TEXT[name]
        return abstract.raise_(trace, TypeError, f"bad operand type for {symbol}: '{kind}'")
    return abstract.finish(trace, abstract.call_type_method(trace, value, UNARY[name], [], {}))


@implements(abstract.binary)
def binary_operator(trace: Trace, name: str, left: Any, right: Any) -> Value:
    left, right = as_number(trace, left), as_number(trace, right)
    for side in (left, right):
        if isinstance(side, Refused):
            raise side.why()
    done = abstract.own_operator(trace, name, left, right)
    if done is not None:
        return done
    left, right = as_operand(trace, left, right, *_asked(name)), as_operand(trace, right, left)
    if isinstance(left, (Tensor, Symbol)) or isinstance(right, (Tensor, Symbol)):
        done = abstract.graph_binary(trace, name, left, right)
        if done is None and name in ("mod", "imod"):
            done = templates.percent(trace, left, right)
        if done is not None:
            return done
        left, right = without_symbols(trace, left), without_symbols(trace, right)
    if left.is_constant() and right.is_constant() and type(left) is not Tuple:
        return abstract.fold(trace, real_operator(name), [left, right], {})
    plain = name
    if name not in BINARY:
        plain = IN_PLACE[name]
        done = reflected_first(trace, plain, left, right)
        if done is None:
            done = special_method(trace, left, "__" + name.rstrip("_") + "__", right)
        if done is not None:
            return done
    return _binary_methods(trace, plain, left, right, in_place=plain != name)


def _asked(name: str) -> tuple[str, ...]:
    """The methods of the left operand, in the order in which Python asks for them."""
    if name in BINARY:
        return (BINARY[name][0],)
    return (f"__{name}__", BINARY[IN_PLACE[name]][0])


def as_operand(trace: Trace, operand: Value, other: Value, *asked: str) -> Any:
    """An operand; next to a tensor a scalar of NumPy is a number, and so is an instance of a class
    derived from one, unless that class has one of the methods that Python asks before it asks the
    tensor."""
    if not isinstance(other, Tensor):
        return operand
    if isinstance(operand, Array) and operand.is_scalar:
        return array_values.number_in(trace, operand)
    if type(operand) is Object and _is_number(operand.storage):
        kinds = type(operand.storage.value), operand.cls
        if not any(overrides_method(trace, kinds, method) for method in asked):
            return operand.storage
    return operand


def _is_number(storage: object) -> bool:
    return isinstance(storage, Constant) and isinstance(storage.value, (int, float, complex))


def _binary_methods(
    trace: Trace, name: str, left: Value, right: Value, in_place: bool = False
) -> Value:
    forward, backward = BINARY[name]
    kinds = left.python_type(), right.python_type()
    swapped = kinds[0] is not kinds[1] and kinds[0] in kinds[1].__mro__
    order = [(left, forward, right), (right, backward, left)]
    if swapped and overrides_method(trace, kinds, backward):
        order.reverse()
    for obj, method, other in order:
        done = special_method(trace, obj, method, other)
        if done is not None:
            return done
    if name == "mod" and issubclass(kinds[0], (str, bytes)):
        return format_percent(trace, left, right)
    if name == "mul" and repeats(kinds):
        operands = f"{left.describe()}, {right.describe()}"
        raise Break(objects.UNKNOWN_OPERATOR, operator="*", operands=operands)
    return unsupported(trace, name, kinds, in_place)


def overrides_method(trace: Trace, kinds: tuple[type, type], method: str) -> bool:
    mine = abstract.type_lookup(trace, kinds[1], method)
    return mine is not MISSING and mine is not abstract.type_lookup(trace, kinds[0], method)


@implements(abstract.special_method)
def special_method(trace: Trace, obj: Value, method: str, other: Value) -> Value | None:
    own = find_method(type(obj), method)
    result: Value | None
    if own is not None:
        result = own(obj, trace, other)
    else:
        result = abstract.operator_slot(trace, obj, method, other)
    if result is None or (result.is_constant() and result.constant() is NotImplemented):
        return None
    return result


@implements(abstract.operator_slot, Object)
def _object_slot(trace: Trace, obj: Object, method: str, other: Value) -> Value | None:
    if abstract.type_lookup(trace, obj.cls, method) is MISSING:
        return None
    return abstract.finish(trace, abstract.call_type_method(trace, obj, method, [other], {}))


@implements(abstract.operator_slot, Opaque)
def _opaque_slot(trace: Trace, obj: Opaque, method: str, other: Value) -> Value | None:
    operands = f"{obj.describe()}, {other.describe()}"
    raise Break(objects.UNKNOWN_OPERATOR, operator=method, operands=operands)


@implements(abstract.operator_slot)
def _other_slot(trace: Trace, obj: Value, method: str, other: Value) -> Value | None:
    """For an object that has a model of another kind Python knows more than the model does."""
    if obj.is_constant():
        return _constant_slot(trace, obj, method, other)
    raw = abstract.type_lookup(trace, obj.python_type(), method)
    if raw is MISSING or raw in DEFAULT_COMPARE:
        return None
    operands = f"{obj.describe()}, {other.describe()}"
    raise Break(objects.UNKNOWN_OPERATOR, operator=method, operands=operands)


@implements(abstract.operator_slot, Builtin)
def _builtin_slot(trace: Trace, obj: Builtin, method: str, other: Value) -> Value | None:
    """Objects of `typing`, and callables in C, are operands now."""
    kind = obj.python_type()
    raw = abstract.type_lookup(trace, kind, method)
    if raw is MISSING or raw in DEFAULT_COMPARE:
        return None
    if not isinstance(other, Builtin) and kind in C_CALLABLES:
        return None  # equal to its like only
    if kind.__module__ != "typing" and kind not in C_CALLABLES:
        return _other_slot(trace, obj, method, other)
    real, known = obj.value, constant_value(trace, other)
    return abstract.folded(trace, lambda: raw(real, known))


@implements(abstract.operator_slot, Constant)
def _constant_slot(trace: Trace, obj: Any, method: str, other: Value) -> Value | None:
    """A constant against something that is no constant: sequences can be repeated."""
    if isinstance(obj.constant(), int) and method == "__mul__":
        return None
    formats = method == "__mod__" and isinstance(obj.constant(), (str, bytes))
    if isinstance(other, Object) and isinstance(other.storage, Constant) and not formats:
        value, held = obj.constant(), other.storage.value
        own: Any = getattr(type(value), method, None)
        return abstract.folded(trace, lambda: own(value, held)) if own is not None else None
    if isinstance(obj.constant(), (str, bytes)) and isinstance(other, Object):
        if other.value is not None and method == "__add__":  # it may be a buffer
            operands = f"{obj.describe()}, {other.describe()}"
            raise Break(objects.UNKNOWN_OPERATOR, operator=method, operands=operands)
    if isinstance(obj.constant(), (str, bytes, tuple)) and method in ("__mul__", "__rmul__"):
        if isinstance(other, Object) and abstract.has_index(trace, other):
            count = Constant(abstract.integer(trace, other))
            return abstract.fold(trace, operator.mul, [obj, count], {})
    if isinstance(obj.constant(), tuple) and isinstance(other, Sequence):
        own = find_method(Tuple, method)
        items = Tuple([known_value(trace, v) for v in obj.constant()])
        return own(items, trace, other) if own is not None else None
    return None


@implements(abstract.operator_slot, Class)
def _class_slot(trace: Trace, obj: Class, method: str, other: Value) -> Value | None:
    if method in ("__or__", "__ror__"):
        pair = (obj, other) if method == "__or__" else (other, obj)
        return abstract.fold(trace, operator.or_, list(pair), {})
    if abstract.type_lookup(trace, type(obj.value), method) is MISSING:
        return None
    return abstract.finish(trace, abstract.call_type_method(trace, obj, method, [other], {}))


def without_symbols(trace: Trace, value: Value) -> Any:
    return Constant(abstract.specialise(trace, value)) if isinstance(value, Symbol) else value


# ---- comparison


DEFAULT_COMPARE = (
    object.__eq__,
    object.__ne__,
    object.__lt__,  # type: ignore[operator]
    object.__le__,  # type: ignore[operator]
    object.__gt__,  # type: ignore[operator]
    object.__ge__,  # type: ignore[operator]
)
IN_PLACE = {
    "iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "truediv", "ifloordiv": "floordiv",
    "imod": "mod", "ipow": "pow", "imatmul": "matmul", "ilshift": "lshift", "irshift": "rshift",
    "iand": "and_", "ior": "or_", "ixor": "xor",
}  # fmt: skip
