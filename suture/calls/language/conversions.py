"""Constructors of builtin types, text and sorting."""

from __future__ import annotations

import collections
import enum
import functools
import operator
import types
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, builtin_calls, calls, objects
from suture.calls.kept import refuse_changing, runs_program
from suture.calls.objects.attributes import MISSING
from suture.calls.outside.instances import is_buffer
from suture.calls.part import Part
from suture.calls.table import handles
from suture.variables import (
    Constant,
    Deque,
    Dict,
    List,
    Object,
    Partial,
    Proxy,
    Set,
    Size,
    Symbol,
    Tensor,
    Tuple,
    is_literal,
)
from suture.variables.arrays import Array
from suture.variables.constant import is_plain
from suture.variables.text import Text, field


@handles(bool)
def _bool(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.to_bool(args[0]) if args else Constant(False)


@handles(int)
def _int(tx: Any, args: Any, kwargs: Any) -> Any:
    return _number(tx, int, "__int__", args, kwargs)


@handles(float)
def _float(tx: Any, args: Any, kwargs: Any) -> Any:
    return _number(tx, float, "__float__", args, kwargs)


@handles(complex)
def _complex(tx: Any, args: Any, kwargs: Any) -> Any:
    return _number(tx, complex, "__complex__", args, kwargs)


def _number(tx: Any, kind: type, method: str, args: list[Any], kwargs: Any) -> Any:
    if len(args) != 1 or kwargs:
        return tx.fold(kind, args, kwargs)
    value = args[0]
    if isinstance(value, Array) and value.is_scalar and kind is not complex:
        value = args[0] = tx.number_in(value)
    if isinstance(value, Symbol):
        if value.python_type() is kind:
            return value
        if len(args) > 1:
            return tx.fold(kind, args, kwargs)
        if value.python_type() is bool or kind is complex:
            return Constant(kind(tx.specialise(value)))
        return tx.call_torch(torch.sym_float if kind is float else torch.sym_int, [value], {})
    if isinstance(value, Tensor):
        return tx.tensor_to_number(value, method)
    if isinstance(value, Object):
        return _number_of_object(tx, kind, method, value)
    return tx.fold(kind, args, kwargs)


def _number_of_object(tx: Any, kind: type, method: str, value: Object) -> Any:
    """int(), float() or complex() of an object: the methods of its class, then its own value."""
    methods = (method, "__float__", "__index__") if kind is complex else (method, "__index__")
    known = False
    for name in methods:
        raw = tx.type_lookup(value.cls, name)
        if raw is MISSING:
            continue
        known = True
        inside = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
        if not isinstance(inside, types.FunctionType):
            if isinstance(value.storage, Constant):
                return tx.fold(kind, [value.storage], {})
            break
        result = tx.finish(tx.call_type_method(value, name, [], {}))
        wanted = _RESULTS[name]
        if not issubclass(result.python_type(), wanted):
            got = result.python_type().__name__
            text = f"{name} returned non-{wanted.__name__} (type {got})"
            if name == "__float__":
                text = f"{value.cls.__name__}.{text}"
            return tx.raise_(TypeError, text)
        if result.python_type() is not wanted:
            break  # Python warns of it
        return result if wanted is kind else _number(tx, kind, method, [result], {})
    if isinstance(value.storage, Constant) and isinstance(value.storage.value, (str, bytes)):
        return tx.fold(kind, [value.storage], {})
    known = known or value.storage is not None or is_buffer(value.value)
    if known or tx.type_lookup(value.cls, "__trunc__") is not MISSING:
        raise Break(calls.C_FUNCTION, function=kind.__name__)
    return tx.raise_(TypeError, _NOT_A_NUMBER[kind].format(type_name(value.cls)))


_NOT_A_NUMBER: dict[type, str] = {
    int: "int() argument must be a string, a bytes-like object or a real number, not '{}'",
    float: "float() argument must be a string or a real number, not '{}'",
    complex: "complex() first argument must be a string or a number, not '{}'",
}
_RESULTS: dict[str, type] = {
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": int,
}


@handles(str)
def _str(tx: Any, args: Any, kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs:
        return tx.convert_value(args[0], "str")
    return tx.fold(str, args, kwargs)


@handles(repr)
def _repr(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.convert_value(args[0], "repr")


@handles(ascii)
def _ascii(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.convert_value(args[0], "ascii")


@handles(format)
def _format(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.format_value(args[0], None, args[1] if len(args) > 1 else None)


@handles(bytearray, memoryview)
def _buffer(tx: Any, args: Any, kwargs: Any) -> Any:
    raise Break(calls.C_FUNCTION, function="bytearray")


@handles(bytes)
def _bytes(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.fold(bytes, args, kwargs)


@handles(tuple)
def _tuple(tx: Any, args: Any, kwargs: Any) -> Any:
    if not args:
        return Tuple([])
    same = type(args[0]) in (Tuple, Constant) and args[0].python_type() is tuple
    return args[0] if same else Tuple(tx.elements(args[0]))


@handles(list)
def _list(tx: Any, args: Any, kwargs: Any) -> Any:
    return List(tx.elements(args[0]) if args else [])


@handles(torch.Size)
def _size(tx: Any, args: Any, kwargs: Any) -> Any:
    return Size([_dimension(tx, i) for i in tx.elements(args[0])] if args else [])


def _dimension(tx: Any, item: Any) -> Any:
    return tx.tensor_to_number(item, "__index__") if isinstance(item, Tensor) else item


@handles(collections.deque)
def _deque(tx: Any, args: Any, kwargs: Any) -> Any:
    limit = args[1] if len(args) > 1 else kwargs.get("maxlen", Constant(None))
    known = tx.constant_value(limit)
    made = Deque([], None, tx.folded(lambda: collections.deque(maxlen=known).maxlen).constant())
    if args or "iterable" in kwargs:
        made.m_extend(tx, args[0] if args else kwargs["iterable"])
    return made


@handles(set)
def _set(tx: Any, args: Any, kwargs: Any) -> Any:
    return _make_set(tx, set, args)


@handles(frozenset)
def _frozenset(tx: Any, args: Any, kwargs: Any) -> Any:
    return _make_set(tx, frozenset, args)


def _make_set(tx: Any, kind: type, args: list[Any]) -> Any:
    if kind is frozenset and args and isinstance(args[0], Set) and args[0].kind is frozenset:
        return args[0]
    return Set(None, None, kind).m_union(tx, *args)


@handles(dict)
def _dict(tx: Any, args: Any, kwargs: Any) -> Any:
    made = Dict()
    made.m_update(tx, *args, **kwargs)
    return made


def _only_one(tx: Any, kind: Any, args: Any, kwargs: Any) -> None:
    if len(args) > 1:
        tx.refused(kind, args, kwargs)


@handles(collections.OrderedDict)
def _ordered(tx: Any, args: Any, kwargs: Any) -> Any:
    _only_one(tx, collections.OrderedDict, args, kwargs)
    made = Dict(None, None, collections.OrderedDict)
    made.m_update(tx, *args, **kwargs)
    return made


@handles(collections.defaultdict)
def _defaultdict(tx: Any, args: Any, kwargs: Any) -> Any:
    factory = args[0] if args else None
    if factory is not None and factory.is_constant() and factory.constant() is None:
        factory = None
    if factory is not None and not tx.truth(tx.call(tx.wrap(callable, None), [factory], {})):
        return tx.raise_(TypeError, "first argument must be callable or None")
    made = Dict(None, None, collections.defaultdict, None, factory)
    made.m_update(tx, *args[1:], **kwargs)
    return made


@handles(types.MappingProxyType)
def _mapping_proxy(tx: Any, args: Any, kwargs: Any) -> Any:
    of = args[0] if len(args) == 1 and not kwargs else None
    if isinstance(of, Dict) or (isinstance(of, Object) and isinstance(of.storage, Dict)):
        return Proxy(of)
    raise Break(calls.C_FUNCTION, function="types.MappingProxyType")


@handles(object)
def _object(tx: Any, args: Any, kwargs: Any) -> Any:
    return Object(None, object)


@handles(functools.partial)
def _partial(tx: Any, args: Any, kwargs: Any) -> Any:
    fn, rest = args[0], args[1:]
    if isinstance(fn, Partial) and not tx.instance_dict(fn).load(tx):
        return Partial(fn.fn, [*fn.args, *rest], {**fn.keywords, **kwargs})
    return Partial(fn, rest, dict(kwargs))


class Conversions(Part):
    """The part of the tracer that makes text and sorts."""

    def wrap_known(self, value: Any) -> Any:
        """The variable of a value computed while tracing: no guard, nothing to read again. What can
        change is made anew by the variant, in each call; Break if it cannot be."""
        if is_literal(value):
            return Constant(value)
        kind = type(value)
        if kind is tuple:
            return Tuple([self.wrap_known(v) for v in value])
        if kind is list:
            return List([self.wrap_known(v) for v in value])
        if kind is torch.Size:
            return Size([self.wrap_known(v) for v in value])
        if kind is dict:
            return Dict({k: (self.wrap_known(k), self.wrap_known(v)) for k, v in value.items()})
        if kind in (set, frozenset):
            return self.known_set(value)
        refuse_changing(value)
        return self.wrap(value, None)

    def convert_value(self, value: Any, how: str) -> Any:
        """str(), repr() or ascii() of a value."""
        real = {"str": str, "repr": repr, "ascii": ascii}[how]
        if isinstance(value, (Tensor, Symbol)):
            return Text([field(value, how)])
        if isinstance(value, Text) and how == "str":
            return value
        if how == "ascii":
            text = self.constant_value(self.convert_value(value, "repr"))
            return Constant(text.encode("ascii", "backslashreplace").decode("ascii"))
        if isinstance(value, Object):
            return self._object_text(value, how)
        from suture.variables import Raise

        if isinstance(value, Raise):
            return self._exception_text(value, how)
        if not value.is_constant():
            text = self.container_text(value)
            if text is not None:
                return text
        known = self.constant_value(value)
        own = "__str__" if how == "str" else "__repr__"
        if isinstance(known, enum.Enum) and runs_program(known):
            if isinstance(self.type_lookup(type(known), own), types.FunctionType):
                return self._text_of_method(value, own)
        return self.call_now(real, [known], {})

    def _object_text(self, value: Object, how: str) -> Any:
        """str() or repr() of an object: what its class says, in Python, or in C of its value."""
        name = "__str__" if how == "str" else "__repr__"
        raw = self.type_lookup(value.cls, name)
        if raw is object.__str__:
            name = "__repr__"
            raw = self.type_lookup(value.cls, name)
        if isinstance(raw, types.FunctionType):
            return self._text_of_method(value, name)
        if isinstance(value.storage, Constant):
            known = value.value
            if known is None and raw is type(value.storage.value).__dict__.get(name):
                known = value.storage.value
            if known is not None:
                return self.folded(lambda: raw(known))
        return self.text_in_c(value, raw, how)

    def _text_of_method(self, value: Any, name: str) -> Any:
        text = self.finish(self.call_type_method(value, name, [], {}))
        if not issubclass(text.python_type(), str):
            kind = type_name(text.python_type())
            return self.raise_(TypeError, f"{name} returned non-string (type {kind})")
        return text

    def _exception_text(self, exc: Any, how: str) -> Any:
        """str() or repr() of an exception made while tracing."""
        name = "__str__" if how == "str" else "__repr__"
        raw = self.type_lookup(exc.cls, name)
        if isinstance(raw, types.FunctionType):
            return self._text_of_method(exc, name)
        if raw is KeyError.__str__ and len(exc.args) == 1:
            return self.convert_value(exc.args[0], "repr")
        if name == "__str__" and not issubclass(exc.cls, _OWN_TEXT):
            if len(exc.args) < 2:
                return self.convert_value(exc.args[0], "str") if exc.args else Constant("")
            return self.convert_value(Tuple(exc.args), "str")
        if name == "__str__" or issubclass(exc.cls, BaseExceptionGroup):
            raise Break(objects.UNKNOWN_OBJECT, operation=f"{how}()", object=exc.describe())
        inner = self.convert_value(Tuple(exc.args), "repr").constant()
        if len(exc.args) == 1:
            inner = "(" + self.convert_value(exc.args[0], "repr").constant() + ")"
        return Constant(exc.cls.__name__ + inner)

    def format_value(self, value: Any, conversion: str | None, spec: Any) -> Any:
        """A field of an f-string, or format()."""
        if conversion is not None:
            value = self.convert_value(value, conversion)
        if isinstance(value, (Tensor, Symbol)):
            return Text([field(value, "format", self.constant_value(spec) if spec else "")])
        if isinstance(value, Text) and spec is None:
            return value
        if isinstance(value, Object):
            return self._format_object(value, spec if spec is not None else Constant(""))
        if not value.is_constant() and (spec is None or self.constant_value(spec) == ""):
            return self.convert_value(value, "str")
        known = self.constant_value(value)
        text = "" if spec is None else self.constant_value(spec)
        return self.call_now(format, [known, text], {})

    def _format_object(self, value: Object, spec: Any) -> Any:
        raw = self.type_lookup(value.cls, "__format__")
        if isinstance(raw, types.FunctionType):
            text = self.finish(self.call_type_method(value, "__format__", [spec], {}))
            if not issubclass(text.python_type(), str):
                kind = type_name(text.python_type())
                return self.raise_(TypeError, f"__format__ must return a str, not {kind}")
            return text
        how = self.constant_value(spec)
        if how == "":
            return self.convert_value(value, "str")
        if raw is object.__format__:
            kind = type_name(value.cls)
            text = f"unsupported format string passed to {kind}.__format__"
            return self.raise_(TypeError, text)
        held = value.storage.value if isinstance(value.storage, Constant) else None
        if held is None or raw is not type(held).__dict__.get("__format__"):
            raise Break(builtin_calls.STR_IN_C, object=value.describe())
        method: Any = raw
        return self.folded(lambda: method(held, how))

    def format_percent(self, left: Any, right: Any) -> Any:
        """`"..." % values` with values that are all known."""
        return self.call_now(operator.mod, [self.constant_value(v) for v in (left, right)], {})

    def sorted(self, items: list[Any], key: Any, reverse: Any) -> list[Any]:
        """The items in order."""
        ordered = list(items)
        self.sort(ordered, key, reverse)
        return ordered

    def sort(self, items: list[Any], key: Any, reverse: Any) -> None:
        """Put the items in order by the comparisons the program would make; if one raises, they
        are left as far as Python has come."""
        if key is not None and key.is_constant() and key.constant() is None:
            key = None
        if key is not None and not all(i.is_constant() for i in items):
            _refuse_many(items)
        keys = items if key is None else [self.call(key, [i], {}) for i in items]
        backwards = reverse is not None and self.truth(reverse)
        known = _known_order(keys, backwards)
        if known is not None:
            items[:] = [items[i] for i in known]
            return
        _refuse_many(items)
        wrapped = [_Sortable(self, k, i) for k, i in zip(keys, items)]
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
    """Lets Python's sort ask the tracer which of two values is less."""

    __slots__ = ("item", "key", "tx")

    def __init__(self, tx: Any, key: Any, item: Any) -> None:
        self.tx = tx
        self.key = key
        self.item = item

    def __lt__(self, other: Any) -> bool:
        return bool(self.tx.truth(self.tx.compare("<", self.key, other.key)))
