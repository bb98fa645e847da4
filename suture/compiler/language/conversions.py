"""Constructors of builtin types, text and sorting."""

from __future__ import annotations

import collections
import enum
import functools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, builtin_calls, calls, objects
from suture.bytecode import TUPLE_ASKS, language
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language import templates
from suture.compiler.language.attributes import MISSING
from suture.compiler.language.iteration import elements_of
from suture.compiler.language.texts import container_text, text_in_c
from suture.compiler.language.wording import words
from suture.compiler.models import handles
from suture.compiler.objects import (
    Constant,
    Deque,
    Dict,
    Group,
    List,
    Object,
    Partial,
    Proxy,
    Raise,
    Set,
    Size,
    Tensor,
    Tuple,
    list_,
)
from suture.compiler.objects.constant import is_plain
from suture.compiler.objects.foldable_calls import refuse_changing, runs_program
from suture.compiler.objects.lookup import is_buffer
from suture.compiler.objects.methods import run_method
from suture.compiler.objects.partial import is_placeholder
from suture.compiler.objects.text import Text, field
from suture.runtime.predicates import is_literal


@handles(bool)
def _bool(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.to_bool(trace, args[0]) if args else Constant(False)


@handles(int)
def _int(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _number(trace, int, "__int__", args, kwargs)


@handles(float)
def _float(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _number(trace, float, "__float__", args, kwargs)


@handles(complex)
def _complex(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _number(trace, complex, "__complex__", args, kwargs)


def _number(
    trace: Trace, kind: type, method: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if len(args) != 1 or kwargs:
        return abstract.fold(trace, kind, args, kwargs)
    return abstract.number_of(trace, args[0], kind, method)


@implements(abstract.number_of)
def number_of(trace: Trace, value: Value, kind: type, method: str) -> Value:
    return abstract.fold(trace, kind, [value], {})


@implements(abstract.number_of, Object)
def _number_of_object(trace: Trace, value: Object, kind: type, method: str) -> Value:
    """int(), float() or complex() of an object: the methods of its class, then its own value."""
    methods = (method, "__float__", "__index__") if kind is complex else (method, "__index__")
    known = False
    for name in methods:
        raw = abstract.type_lookup(trace, value.cls, name)
        if raw is MISSING:
            continue
        known = True
        inside = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
        if not isinstance(inside, types.FunctionType):
            if isinstance(value.storage, Constant):
                return abstract.fold(trace, kind, [value.storage], {})
            break
        result = abstract.finish(trace, abstract.call_type_method(trace, value, name, [], {}))
        wanted = _RESULTS[name]
        got = result.python_type()
        if not issubclass(got, wanted):
            return abstract.raise_(trace, TypeError, language.wrong_result(value.cls, name, got))
        if result.python_type() is not wanted:
            break  # Python warns of it
        return result if wanted is kind else abstract.number_of(trace, result, kind, method)
    if isinstance(value.storage, Constant) and isinstance(value.storage.value, (str, bytes)):
        return abstract.fold(trace, kind, [value.storage], {})
    known = known or value.storage is not None or is_buffer(value.value)
    if known or abstract.type_lookup(trace, value.cls, "__trunc__") is not MISSING:
        raise Break(calls.C_FUNCTION, function=kind.__name__)
    return abstract.raise_(trace, TypeError, _NOT_A_NUMBER[kind](value.cls))


_NOT_A_NUMBER: dict[type, Callable[[type], str]] = {
    kind: words(kind) for kind in (int, float, complex)
}
_RESULTS: dict[str, type] = {
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": int,
}


@handles(str)
def _str(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 1 and not kwargs:
        return abstract.convert_value(trace, args[0], "str")
    return abstract.fold(trace, str, args, kwargs)


@handles(repr)
def _repr(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.convert_value(trace, args[0], "repr")


@handles(ascii)
def _ascii(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.convert_value(trace, args[0], "ascii")


@handles(format)
def _format(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.format_value(trace, args[0], args[1] if len(args) > 1 else None)


@handles(bytearray, memoryview)
def _buffer(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(calls.C_FUNCTION, function="bytearray")


@handles(bytes)
def _bytes(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.fold(trace, bytes, args, kwargs)


@handles(tuple)
def _tuple(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args:
        return Tuple([])
    same = type(args[0]) in (Tuple, Constant) and args[0].python_type() is tuple
    return args[0] if same else Tuple(elements_of(trace, args[0], asked=TUPLE_ASKS))


@handles(list)
def _list(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return List(elements_of(trace, args[0], asked=True) if args else [])


@handles(torch.Size)
def _size(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = elements_of(trace, args[0], asked=TUPLE_ASKS) if args else []
    return Size([_dimension(trace, item) for item in items])


def _dimension(trace: Trace, item: Value) -> Value:
    return abstract.tensor_to_number(trace, item, "__index__") if isinstance(item, Tensor) else item


@handles(collections.deque)
def _deque(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    made = Deque([])
    abstract.init_storage(trace, made, made, args, kwargs)
    return made


@handles(set)
def _set(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _make_set(trace, set, args)


@handles(frozenset)
def _frozenset(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _make_set(trace, frozenset, args)


def _make_set(trace: Trace, kind: type, args: list[Value]) -> Value:
    if kind is frozenset and args and args[0].python_type() is frozenset:
        return args[0]
    return run_method(trace, Set(None, None, kind), "union", *args)


@handles(dict)
def _dict(trace: Trace, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    made = Dict()
    run_method(trace, made, "update", *args, **kwargs)
    return made


def _only_one(trace: Trace, kind: type, args: list[Value], kwargs: dict[str, Value]) -> None:
    if len(args) > 1:
        abstract.refused(trace, kind, args, kwargs)


@handles(collections.defaultdict)
def _defaultdict(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    factory = args[0] if args else None
    if factory is not None and factory.is_constant() and factory.constant() is None:
        factory = None
    if factory is not None and not abstract.truth(
        trace, abstract.call(trace, abstract.wrap(trace, callable, None), [factory], {})
    ):
        return abstract.raise_(trace, TypeError, "first argument must be callable or None")
    made = Dict(None, None, collections.defaultdict, None, factory)
    run_method(trace, made, "update", *args[1:], **kwargs)
    return made


@handles(types.MappingProxyType)
def _mapping_proxy(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    of = args[0] if len(args) == 1 and not kwargs else None
    if isinstance(of, Dict) or (isinstance(of, Object) and isinstance(of.storage, Dict)):
        return Proxy(of)
    raise Break(calls.C_FUNCTION, function="types.MappingProxyType")


@handles(object)
def _object(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Object(None, object)


@handles(functools.partial)
def _partial(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    fn, rest = args[0], args[1:]
    holes = any(map(is_placeholder, [*rest, *kwargs.values()]))
    if holes or (isinstance(fn, Partial) and fn.holes):  # Python fits them into each other
        raise Break(calls.C_FUNCTION, function="functools.partial")
    if isinstance(fn, Partial):
        attributes = abstract.instance_dict(trace, fn)
        assert isinstance(attributes, Dict)
        if not attributes.load(trace):
            return Partial(fn.fn, [*fn.args, *rest], {**fn.keywords_now(trace), **kwargs})
    return Partial(fn, rest, dict(kwargs))


def wrap_known(trace: Trace, value: Any) -> Value:
    """The value of a real object computed while tracing: no guard, nothing to read again. What can
    change is made anew by the variant, in each call; Break if it cannot be."""
    if is_literal(value):
        return Constant(value)
    kind = type(value)
    if kind is tuple:
        return Tuple([wrap_known(trace, v) for v in value])
    if kind is list:
        return List([wrap_known(trace, v) for v in value])
    if kind is torch.Size:
        return Size([wrap_known(trace, v) for v in value])
    if kind is dict:
        return Dict({k: (wrap_known(trace, k), wrap_known(trace, v)) for k, v in value.items()})
    if kind in (set, frozenset):
        return abstract.known_set(trace, value)
    refuse_changing(value)
    return abstract.wrap(trace, value, None)


@implements(abstract.convert_value)
def convert_value(trace: Trace, value: Any, how: str) -> Value:
    if how == "ascii":
        return ascii_of(trace, value)
    if not value.is_constant():
        text = container_text(trace, value)
        if text is not None:
            return text
    known = abstract.constant_value(trace, value)
    own = "__str__" if how == "str" else "__repr__"
    if isinstance(known, enum.Enum) and runs_program(known):
        if isinstance(abstract.type_lookup(trace, type(known), own), types.FunctionType):
            return _text_of_method(trace, value, own)
    return abstract.call_now(trace, str if how == "str" else repr, [known], {})


def ascii_of(trace: Trace, value: Value) -> Value:
    """`ascii(value)`, whose repr() is known."""
    text = abstract.constant_value(trace, abstract.convert_value(trace, value, "repr"))
    return Constant(text.encode("ascii", "backslashreplace").decode("ascii"))


@implements(abstract.convert_value, Text)
def _text_of_text(trace: Trace, value: Text, how: str) -> Value:
    return value if how == "str" else convert_value(trace, value, how)


@implements(abstract.convert_value, Object)
def _object_text(trace: Trace, value: Object, how: str) -> Value:
    """What its class says, in Python, or in C of its value."""
    if how == "ascii":
        return ascii_of(trace, value)
    name = "__str__" if how == "str" else "__repr__"
    raw = abstract.type_lookup(trace, value.cls, name)
    if raw is object.__str__:
        name = "__repr__"
        raw = abstract.type_lookup(trace, value.cls, name)
    if isinstance(raw, types.FunctionType):
        return _text_of_method(trace, value, name)
    if isinstance(value.storage, Constant):
        known = value.value
        if known is None and raw is type(value.storage.value).__dict__.get(name):
            known = value.storage.value
        if known is not None:
            return abstract.folded(trace, lambda: raw(known))
    return text_in_c(trace, value, raw, how)


def _text_of_method(trace: Trace, value: Value, name: str) -> Value:
    text = abstract.finish(trace, abstract.call_type_method(trace, value, name, [], {}))
    if not issubclass(text.python_type(), str):
        said = language.wrong_result(value.python_type(), name, text.python_type())
        return abstract.raise_(trace, TypeError, said)
    return text


@implements(abstract.convert_value, Raise)
def _exception_text(trace: Trace, value: Raise, how: str) -> Value:
    """Of an exception made while tracing."""
    if how == "ascii":
        return ascii_of(trace, value)
    exc: Any = value
    name = "__str__" if how == "str" else "__repr__"
    raw = abstract.type_lookup(trace, exc.cls, name)
    if isinstance(raw, types.FunctionType):
        return _text_of_method(trace, exc, name)
    if raw is KeyError.__str__ and len(exc.args) == 1:
        return abstract.convert_value(trace, exc.args[0], "repr")
    if name == "__str__" and not issubclass(exc.cls, _OWN_TEXT):
        if len(exc.args) < 2:
            return abstract.convert_value(trace, exc.args[0], "str") if exc.args else Constant("")
        return abstract.convert_value(trace, Tuple(exc.args), "str")
    if isinstance(exc, Group) and exc.is_as_made():
        return _group_text(trace, exc, how)
    if name == "__str__" or issubclass(exc.cls, BaseExceptionGroup):
        raise Break(objects.UNKNOWN_OBJECT, operation=f"{how}()", object=exc.describe())
    inner = abstract.convert_value(trace, Tuple(exc.args), "repr").constant()
    if len(exc.args) == 1:
        inner = "(" + abstract.convert_value(trace, exc.args[0], "repr").constant() + ")"
    return Constant(exc.cls.__name__ + inner)


def _group_text(trace: Trace, group: Group, how: str) -> Value:
    if how == "str":
        text, count = abstract.constant_value(trace, group.message), len(group.members.items)
        return Constant(f"{text} ({count} sub-exception{'s' if count > 1 else ''})")
    inner = abstract.convert_value(trace, Tuple(group.args), "repr").constant()
    return Constant(group.cls.__name__ + inner)


@implements(abstract.format_value)
def format_value(trace: Trace, value: Any, spec: Value | None) -> Value:
    if not value.is_constant() and (spec is None or abstract.constant_value(trace, spec) == ""):
        return abstract.convert_value(trace, value, "str")
    known = abstract.constant_value(trace, value)
    text = "" if spec is None else abstract.constant_value(trace, spec)
    return abstract.call_now(trace, format, [known, text], {})


@implements(abstract.format_value, Text)
def _format_text(trace: Trace, value: Text, spec: Value | None) -> Value:
    how = "" if spec is None else abstract.constant_value(trace, spec)
    if how == "":
        return value
    try:
        format("", how)
    except ValueError as error:
        abstract.raise_(trace, ValueError, str(error))
    return Text([field(trace, value, "format", how)])


@implements(abstract.format_value, Object)
def _format_object(trace: Trace, value: Object, spec: Value | None) -> Value:
    spec = Constant("") if spec is None else spec
    raw = abstract.type_lookup(trace, value.cls, "__format__")
    if isinstance(raw, types.FunctionType):
        text = abstract.finish(
            trace, abstract.call_type_method(trace, value, "__format__", [spec], {})
        )
        if not issubclass(text.python_type(), str):
            said = language.wrong_result(value.cls, "__format__", text.python_type())
            return abstract.raise_(trace, TypeError, said)
        return text
    how = abstract.constant_value(trace, spec)
    if how == "":
        return abstract.convert_value(trace, value, "str")
    if raw is object.__format__:
        kind = type_name(value.cls)
        said = f"unsupported format string passed to {kind}.__format__"
        return abstract.raise_(trace, TypeError, said)
    held = value.storage.value if isinstance(value.storage, Constant) else None
    if held is None or raw is not type(held).__dict__.get("__format__"):
        raise Break(builtin_calls.STR_IN_C, object=value.describe())
    method: Any = raw
    return abstract.folded(trace, lambda: method(held, how))


def format_percent(trace: Trace, left: Value, right: Value) -> Value:
    """`"..." % values`."""
    made = templates.percent(trace, left, right)
    if made is not None:
        return made
    return abstract.call_now(
        trace, operator.mod, [abstract.constant_value(trace, v) for v in (left, right)], {}
    )


def sorted_(trace: Trace, items: list[Any], key: Value | None, reverse: Value | None) -> list[Any]:
    """The items in order."""
    ordered = list(items)
    sort_list(trace, ordered, key, reverse)
    return ordered


@implements(list_.sort)
def sort_list(trace: Trace, items: list[Any], key: Value | None, reverse: Value | None) -> None:
    if key is not None and key.is_constant() and key.constant() is None:
        key = None
    if key is not None and not all(i.is_constant() for i in items):
        _refuse_many(items)
    keys = items if key is None else [abstract.call(trace, key, [i], {}) for i in items]
    backwards = reverse is not None and abstract.truth(trace, reverse)
    known = _known_order(keys, backwards)
    if known is not None:
        items[:] = [items[i] for i in known]
        return
    _refuse_many(items)
    wrapped = [_Sortable(trace, k, i) for k, i in zip(keys, items)]
    try:
        wrapped.sort(reverse=backwards)
    finally:
        items[:] = [w.item for w in wrapped]


# Exceptions whose text is made of more than their arguments.
_OWN_TEXT = (OSError, SyntaxError, UnicodeError, ImportError, BaseExceptionGroup)


_MOST_SORTED = 256  # items that are compared one by one, each time with a guard


def _refuse_many(items: list[Any]) -> None:
    if len(items) > _MOST_SORTED:
        what = f"{len(items)} items"
        raise Break(objects.UNKNOWN_OBJECT, operation="sort", object=what)


def _known_order(keys: list[Any], backwards: bool) -> list[int] | None:
    """The order of keys that are all plain values, for which nobody needs to be asked."""
    if not all(k.is_constant() for k in keys):
        return None
    values = [k.constant() for k in keys]
    if not all(is_plain(v) for v in values):
        return None
    try:
        return sorted(range(len(keys)), key=values.__getitem__, reverse=backwards)
    except TypeError:  # the program's own, to be found where it comes up
        return None


class _Sortable:
    """Lets Python's sort compare two values as the program would."""

    __slots__ = ("item", "key", "trace")

    def __init__(self, trace: Trace, key: Any, item: Any) -> None:
        self.trace = trace
        self.key = key
        self.item = item

    def __lt__(self, other: Any) -> bool:
        return bool(
            abstract.truth(self.trace, abstract.compare(self.trace, "<", self.key, other.key))
        )
