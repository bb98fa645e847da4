"""Items, membership, lengths, and class patterns."""

from __future__ import annotations

import operator
import sys
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, has_attr
from suture.compiler.language.comparison import compare_sequences
from suture.compiler.language.wording import words
from suture.compiler.objects import (
    Builtin,
    Class,
    Constant,
    Dict,
    Object,
    Opaque,
    Sequence,
    Slice,
    Symbol,
    Tensor,
    Tuple,
    sequence,
)
from suture.compiler.objects.methods import find_method, run_method


def _only_computes(fn: types.FunctionType) -> bool:
    """Whether the function is one of the library's that make types, or find members of enums."""
    return fn.__module__ in ("enum", "typing", "types", "typing_extensions")


@implements(abstract.getitem)
def get_item(trace: Trace, obj: Value, key: Value) -> Value:
    return abstract.finish(trace, abstract.tail_getitem(trace, obj, key))


@implements(abstract.tail_getitem)
def _tail_getitem(trace: Trace, obj: Value, key: Value) -> Value:
    if obj.is_constant() and type(obj) is not Tuple:
        return _constant_getitem(trace, obj, key)
    own = find_method(type(obj), "__getitem__")
    if own is not None:
        return own(obj, trace, key)
    if abstract.type_lookup(trace, obj.python_type(), "__getitem__") is MISSING:
        kind = type_name(obj.python_type())
        return abstract.raise_(trace, TypeError, f"'{kind}' object is not subscriptable")
    return abstract.call_type_method(trace, obj, "__getitem__", [key], {})


@implements(abstract.tail_getitem, Opaque)
def _opaque_getitem(trace: Trace, obj: Opaque, key: Value) -> Value:
    raise Break(objects.UNKNOWN_SUBSCRIPT, object=obj.describe(), key=key.describe())


def dict_subscript(trace: Trace, obj: Any, storage: Dict, key: Value) -> Value:
    """What dict.__getitem__ gives for an object of a class that may define __missing__."""
    missing = abstract.type_lookup(trace, obj.cls, "__missing__")
    if not isinstance(missing, types.FunctionType):
        return run_method(trace, storage, "__getitem__", key)
    found = storage.get(trace, key)
    return (
        found
        if found is not None
        else abstract.call_type_method(trace, obj, "__missing__", [key], {})
    )


def _constant_getitem(trace: Trace, obj: Value, key: Value) -> Value:
    if isinstance(key, (Object, Tensor)) and isinstance(obj.constant(), _SEQUENCES):
        if isinstance(key, Tensor) or has_index(trace, key):
            key = Constant(abstract.integer(trace, key))
    if isinstance(key, Slice) or key.is_constant() or isinstance(key, Symbol):
        value = obj.constant()
        return abstract.folded(trace, lambda: value[abstract.constant_value(trace, key)])
    return abstract.fold(trace, operator.getitem, [obj, key], {})


@implements(abstract.tail_getitem, Class)
def _class_getitem(trace: Trace, obj: Class, key: Value) -> Value:
    meta = type(obj.value)
    getter = abstract.type_lookup(trace, meta, "__getitem__") if meta is not type else MISSING
    if getter is not MISSING:
        if isinstance(getter, types.FunctionType) and not _only_computes(getter):
            return abstract.tail_call(trace, abstract.wrap(trace, getter, None), [obj, key], {})
        return abstract.fold(trace, operator.getitem, [obj, key], {})
    raw = abstract.type_lookup(trace, obj.value, "__class_getitem__")
    own = raw.__func__ if isinstance(raw, classmethod) else None
    if isinstance(own, types.FunctionType) and not _only_computes(own):
        return abstract.tail_call(trace, abstract.wrap(trace, own, None), [obj, key], {})
    value = abstract.constant_value(trace, key)
    return abstract.folded(trace, lambda: obj.value[value])


@implements(abstract.set_item)
def _set_item(trace: Trace, obj: Value, key: Value, value: Value) -> None:
    _item_method(trace, obj, "__setitem__", [key, value], "item assignment", key)


def del_item(trace: Trace, obj: Value, key: Value) -> None:
    _item_method(trace, obj, "__delitem__", [key], "item deletion", key)


def _item_method(
    trace: Trace, obj: Any, method: str, args: list[Value], what: str, key: Value
) -> None:
    own = find_method(type(obj), method)
    if own is not None:
        own(obj, trace, *args)
        return
    if isinstance(obj, Opaque):
        raise Break(objects.UNKNOWN_SUBSCRIPT, object=obj.describe(), key=key.describe())
    if abstract.type_lookup(trace, obj.python_type(), method) is MISSING:
        abstract.raise_(
            trace, TypeError, f"'{type_name(obj.python_type())}' object does not support {what}"
        )
    abstract.finish(trace, abstract.call_type_method(trace, obj, method, args, {}))


@implements(abstract.contains)
def _contains(trace: Trace, container: Any, item: Any) -> Value:
    if container.is_constant() and item.is_constant():
        return abstract.fold(trace, operator.contains, [container, item], {})
    if isinstance(item, Symbol):
        told = abstract.is_among(trace, item, container)
        if told is not None:
            return told
    if container.is_constant() and not isinstance(container.constant(), (str, bytes)):
        return Constant(
            any(abstract.same_or_equal(trace, v, item) for v in abstract.unpack(trace, container))
        )
    own = find_method(type(container), "__contains__")
    if own is not None:
        return own(container, trace, item)
    cls = container.python_type()
    if abstract.type_lookup(trace, cls, "__contains__") is not MISSING:
        given = abstract.call_type_method(trace, container, "__contains__", [item], {})
        return abstract.to_bool(trace, abstract.finish(trace, given))
    if all(abstract.type_lookup(trace, cls, m) is MISSING for m in ("__iter__", "__getitem__")):
        return abstract.raise_(trace, TypeError, _no_container(cls))
    for at in abstract.each(trace, container):  # an iterator is left where the item was
        if abstract.same_or_equal(trace, at, item):
            return Constant(True)
    return Constant(False)


@implements(abstract.contains, Opaque)
def _opaque_contains(trace: Trace, container: Opaque, item: Value) -> Value:
    operands = f"{item.describe()}, {container.describe()}"
    raise Break(objects.UNKNOWN_OPERATOR, operator="in", operands=operands)


_no_container = words(lambda container: 0 in container)


@implements(sequence.sequence_compare)
def sequence_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Value:
    right = abstract.builtin_part(trace, right)
    done = None
    if isinstance(right, Sequence):
        done = compare_sequences(trace, symbol, left, right)
    return Constant(NotImplemented) if done is None else done


@implements(abstract.index_of)
def index_of(trace: Trace, key: Value, length: int, what: str) -> Any:
    if isinstance(key, Slice):
        return _slice_ends(trace, key)
    if key.is_constant() and isinstance(key.constant(), slice):
        return _with_step(trace, key.constant())
    if not has_index(trace, key):
        kind = type_name(key.python_type())
        base = what.split()[0]
        if base == "deque":
            abstract.raise_(trace, TypeError, f"sequence index must be integer, not '{kind}'")
        abstract.raise_(trace, TypeError, f"{base} indices must be integers or slices, not {kind}")
    at = (
        _tensor_index(trace, key)
        if abstract.is_tensor(trace, key)
        else abstract.integer(trace, key)
    )
    if not -length <= at < length:
        if not -sys.maxsize - 1 <= at <= sys.maxsize:
            kind = type_name(key.python_type())
            text = f"cannot fit '{kind}' into an index-sized integer"
            abstract.raise_(trace, IndexError, text)
        abstract.raise_(trace, IndexError, f"{what} index out of range")
    return at if at >= 0 else at + length


@implements(abstract.has_index)
def has_index(trace: Trace, key: Value) -> bool:
    if issubclass(key.python_type(), int):
        return True
    return (
        abstract.is_tensor(trace, key)
        or abstract.type_lookup(trace, key.python_type(), "__index__") is not MISSING
    )


def _tensor_index(trace: Trace, key: Value) -> int:
    """A tensor as an index of a Python sequence: its number must be known."""
    try:
        return abstract.integer(trace, key)
    except Break as reason:
        raise Break(control_flow.INDEX_OF_TENSOR, tensor=key.describe()) from reason


def _slice_ends(trace: Trace, key: Slice) -> slice:
    try:
        ends = slice(*(_slice_end(trace, p) for p in key.parts))
    except Break as reason:
        bounds = ":".join(p.describe() for p in key.parts)
        raise Break(control_flow.TENSOR_SLICE, bounds=bounds) from reason
    return _with_step(trace, ends)


def _with_step(trace: Trace, ends: slice) -> slice:
    if ends.step == 0:
        abstract.raise_(trace, ValueError, "slice step cannot be zero")
    return ends


def _slice_end(trace: Trace, part: Value) -> Any:
    if part.is_constant() and part.constant() is None:
        return None
    return abstract.integer(trace, part)


@implements(abstract.length)
def length_of(trace: Trace, obj: Value) -> Value:
    if obj.is_constant():
        return abstract.fold(trace, len, [obj], {})
    own = find_method(type(obj), "__len__")
    if own is not None:
        return own(obj, trace)
    if abstract.type_lookup(trace, obj.python_type(), "__len__") is MISSING:
        kind = type_name(obj.python_type())
        return abstract.raise_(trace, TypeError, f"object of type '{kind}' has no len()")
    told = abstract.finish(trace, abstract.call_type_method(trace, obj, "__len__", [], {}))
    return _as_length(trace, told)


class _Sized:
    """Something whose `__len__` gives a known value, to let Python say what it takes."""

    def __init__(self, told: Any) -> None:
        self.told = told

    def __len__(self) -> Any:
        return self.told


def _as_length(trace: Trace, told: Value) -> Value:
    """What len() makes of what `__len__` returned."""
    if told.is_constant():
        return abstract.folded(trace, lambda: len(_Sized(told.constant())))
    if isinstance(told, Symbol) and told.python_type() is int:
        negative = abstract.truth(trace, abstract.compare(trace, "<", told, Constant(0)))
        if not negative:
            return told
        return abstract.raise_(trace, ValueError, "__len__() should return >= 0")
    raise Break(objects.UNKNOWN_OBJECT, operation="len", object=told.describe())


@implements(abstract.length, Object)
def _object_length(trace: Trace, obj: Object) -> Value:
    if isinstance(obj.storage, Constant):
        if not isinstance(abstract.type_lookup(trace, obj.cls, "__len__"), types.FunctionType):
            return abstract.length(trace, obj.storage)
    return length_of(trace, obj)


def _match_args(trace: Trace, cls: Class, count: int) -> tuple[str, ...] | None:
    """The attributes of positional patterns; None if the one pattern is the object itself."""
    name = cls.value.__name__
    allowed: Any = ()
    if abstract.type_lookup(trace, cls.value, "__match_args__") is not MISSING:
        allowed = abstract.constant_value(trace, abstract.getattr(trace, cls, "__match_args__"))
        if type(allowed) is not tuple:
            kind = type_name(type(allowed))
            abstract.raise_(trace, TypeError, f"{name}.__match_args__ must be a tuple (got {kind})")
    elif issubclass(cls.value, _SELF_MATCHING):
        allowed = None
    most = 1 if allowed is None else len(allowed)
    if count > most:
        plural = "" if most == 1 else "s"
        text = f"{name}() accepts {most} positional sub-pattern{plural} ({count} given)"
        abstract.raise_(trace, TypeError, text)
    if allowed is None:
        return None
    for one in allowed[:count]:
        if type(one) is not str:
            kind = type_name(type(one))
            abstract.raise_(
                trace, TypeError, f"__match_args__ elements must be strings (got {kind})"
            )
    return tuple(allowed[:count])


def match_class(
    trace: Trace, subject: Value, cls: Any, count: int, names: tuple[str, ...]
) -> Value:
    """MATCH_CLASS: the attributes a class pattern binds, or None."""
    if isinstance(cls, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="match", object=cls.describe())
    if not isinstance(cls, Class):
        return abstract.raise_(trace, TypeError, "called match pattern must be a class")
    if not abstract.truth(trace, abstract.call(trace, Builtin(isinstance), [subject, cls], {})):
        return Constant(None)
    out = []
    if count:
        positional = _match_args(trace, cls, count)
        if positional is None:
            out.append(subject)
        else:
            names = (*positional, *names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            text = f"{cls.value.__name__}() got multiple sub-patterns for attribute {name!r}"
            return abstract.raise_(trace, TypeError, text)
        seen.add(name)
        if not has_attr(trace, subject, name):
            return Constant(None)
        out.append(abstract.getattr(trace, subject, name))
    return Tuple(out)


_SEQUENCES = (range, str, bytes, tuple)
_SELF_MATCHING = (
    bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple
)  # fmt: skip
