"""Functions, bound methods, partials and views from outside, with their guards."""

from __future__ import annotations

import functools
import gc
import types
from typing import Any

from suture.calls.outside.wrapping import wraps
from suture.calls.table import handler_of
from suture.variables import (
    Builtin,
    Dict,
    DictView,
    Function,
    Method,
    Opaque,
    Partial,
    Proxy,
)


@wraps(types.FunctionType)
def _function(tx: Any, value: Any, source: Any) -> Any:
    if source is None:
        return Function(value, tx.pinned(value))
    if tx.is_fixed(source) and tx.stays(source, value):
        tx.fix(source, value)
    else:
        tx.guards.add(source, "type", types.FunctionType)
        tx.guards.add(source.child("code"), "is", value.__code__)
        tx.guards.add(source.attr("__globals__"), "is", value.__globals__)
        counts = (len(value.__defaults__ or ()), sorted(value.__kwdefaults__ or ()))
        tx.guards.add(source, "truth", _SameDefaults(counts))
    return Function(value, source)


class _SameDefaults:
    """A predicate for guards: as many defaults as before."""

    __slots__ = ("__name__", "counts")

    def __init__(self, counts: Any) -> None:
        self.counts = counts
        self.__name__ = "same_defaults"

    def __call__(self, fn: Any) -> bool:
        return self.counts == (len(fn.__defaults__ or ()), sorted(fn.__kwdefaults__ or ()))


@wraps(types.MethodType)
def _method(tx: Any, value: Any, source: Any) -> Any:
    if source is None:
        source = tx.pinned(value)
    if handler_of(value) is not None:
        tx.fix(source, value)
        return Builtin(value, source)
    tx.guards.add(source, "type", types.MethodType)
    fn = tx.wrap(value.__func__, source.attr("__func__"))
    return Method(fn, tx.wrap(value.__self__, source.attr("__self__")), source)


@wraps(functools.partial)
def _partial(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a partial")
    tx.guards.add(source, "type", functools.partial)
    fn = tx.wrap(value.func, source.attr("func"))
    args = tx.wrap(value.args, source.attr("args")).unpacked(tx)
    keywords = tx.wrap(value.keywords, source.attr("keywords"))
    pairs = {tx.constant_value(k): v for k, v in tx.dict_pairs(keywords)}
    return Partial(fn, list(args), pairs, source, value)


@wraps(types.MappingProxyType)
def _proxy(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a view")
    tx.guards.add(source, "type", types.MappingProxyType)
    behind = _behind(value)
    if not isinstance(behind, dict):
        return Opaque(value, source)
    return Proxy(tx.wrap(behind, source.call(_behind)), source)


@wraps(type({}.keys()), type({}.values()), type({}.items()))
def _view(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a view")
    tx.guards.add(source, "type", type(value))
    of = tx.wrap(_behind(value), source.call(_behind))
    if not isinstance(of, Dict):
        return Opaque(value, source)
    made = DictView(of, type(value).__name__.removeprefix("dict_"))
    made.source = source
    return made


def _behind(proxy: Any) -> Any:
    """The mapping that a view shows."""
    return gc.get_referents(proxy)[0]
