"""Constructors of builtin types."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.breaks import Break, calls
from suture.bytecode import TUPLE_ASKS, language
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING
from suture.compiler.language.iteration import elements_of
from suture.compiler.language.wording import words
from suture.compiler.models import handles
from suture.compiler.objects import (
    Constant,
    Deque,
    Dict,
    List,
    Object,
    Partial,
    Proxy,
    Set,
    Size,
    Tensor,
    Tuple,
)
from suture.compiler.objects.foldable_calls import refuse_changing
from suture.compiler.objects.lookup import is_buffer
from suture.compiler.objects.methods import run_method
from suture.compiler.objects.partial import is_placeholder
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
