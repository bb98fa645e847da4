"""Functions, bound methods, partials and views from outside, with their guards."""

from __future__ import annotations

import functools
import types
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import model_of
from suture.compiler.objects import (
    Builtin,
    Dict,
    DictView,
    Function,
    Method,
    Opaque,
    Partial,
    Proxy,
)
from suture.compiler.objects.wraps import wraps
from suture.compiler.outside.identity import stays_same
from suture.runtime.predicates import SameDefaults
from suture.runtime.reads import mapping_behind
from suture.runtime.sources import Source


@wraps(types.FunctionType)
def _function(trace: Trace, value: Any, source: Source | None) -> Value:
    if source is None:
        return Function(value, abstract.pinned(trace, value))
    if abstract.is_fixed(trace, source) and stays_same(trace, source, value):
        abstract.fix(trace, source, value)
    else:
        trace.guards.add(source, "type", types.FunctionType)
        trace.guards.add(source.child("code"), "is", value.__code__)
        trace.guards.add(source.attr("__globals__"), "is", value.__globals__)
        counts = (len(value.__defaults__ or ()), sorted(value.__kwdefaults__ or ()))
        trace.guards.add(source, "truth", SameDefaults(counts))
    return Function(value, source)


@wraps(types.MethodType)
def _method(trace: Trace, value: Any, source: Source | None) -> Value:
    if source is None:
        source = abstract.pinned(trace, value)
    if model_of(value) is not None:
        abstract.fix(trace, source, value)
        return Builtin(value, source)
    trace.guards.add(source, "type", types.MethodType)
    fn = abstract.wrap(trace, value.__func__, source.attr("__func__"))
    return Method(fn, abstract.wrap(trace, value.__self__, source.attr("__self__")), source)


@wraps(functools.partial)
def _partial(trace: Trace, value: Any, source: Source | None) -> Value:
    source = source if source is not None else abstract.pinned(trace, value, "a partial")
    trace.guards.add(source, "type", functools.partial)
    fn = abstract.wrap(trace, value.func, source.attr("func"))
    args = abstract.unpack(trace, abstract.wrap(trace, value.args, source.attr("args")))
    keywords = abstract.wrap(trace, value.keywords, source.attr("keywords"))
    pairs = {abstract.constant_value(trace, k): v for k, v in abstract.dict_pairs(trace, keywords)}
    return Partial(fn, list(args), pairs, source, value)


@wraps(types.MappingProxyType)
def _proxy(trace: Trace, value: object, source: Source | None) -> Value:
    source = source if source is not None else abstract.pinned(trace, value, "a view")
    trace.guards.add(source, "type", types.MappingProxyType)
    behind = mapping_behind(value)
    if not isinstance(behind, dict):
        return Opaque(value, source)
    return Proxy(abstract.wrap(trace, behind, source.call(mapping_behind)), source)


@wraps(type({}.keys()), type({}.values()), type({}.items()))
def _view(trace: Trace, value: object, source: Source | None) -> Value:
    source = source if source is not None else abstract.pinned(trace, value, "a view")
    trace.guards.add(source, "type", type(value))
    of = abstract.wrap(trace, mapping_behind(value), source.call(mapping_behind))
    if not isinstance(of, Dict):
        return Opaque(value, source)
    made = DictView(of, type(value).__name__.removeprefix("dict_"))
    made.source = source
    return made
