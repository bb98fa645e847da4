"""Introspection of functions and classes, done while tracing."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Callable
from typing import Any

from suture.breaks import Break, calls, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.exceptions import native_exception
from suture.compiler.models import handles
from suture.compiler.objects import (
    Class,
    Constant,
    Function,
    MadeFunction,
    Method,
    Object,
    Opaque,
    Raised,
    Tuple,
    frozen,
)
from suture.compiler.objects.frozen import FORMS, Frozen
from suture.compiler.objects.wraps import wraps
from suture.compiler.outside.wrapping import opaque
from suture.runtime.predicates import SaysTheSame, is_literal
from suture.runtime.sources import Source

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


@implements(frozen.frozen)
def freeze(trace: Trace, value: Any) -> Value:
    if type(value) in _FROZEN:
        return Frozen(value, abstract.pinned(trace, value))
    if type(value) is tuple and not is_literal(value):
        return Tuple([freeze(trace, v) for v in value])
    if type(value) in _VIEWS or type(value).__name__ in (
        "odict_keys",
        "odict_values",
        "odict_items",
    ):
        return Tuple([freeze(trace, v) for v in value])
    return abstract.wrap(trace, value, None)


@implements(frozen.frozen_answer)
def frozen_answer(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    values = [abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    return abstract.call_now(trace, real, values, named)


@implements(frozen.frozen_result)
def frozen_result(trace: Trace, thunk: Callable[[], Any]) -> Value:
    try:
        value = thunk()
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        raise Raised(native_exception(trace, error)) from None
    return freeze(trace, value)


_FROZEN = frozenset(
    {inspect.Signature, inspect.Parameter, dataclasses.Field, types.MappingProxyType}
    | {re.Pattern, re.Match}
)


@wraps(inspect.Signature, inspect.Parameter, dataclasses.Field, re.Pattern, re.Match, *FORMS)
def _wrap_frozen(trace: Trace, value: Any, source: Source | None) -> Value:
    if source is None:
        return Frozen(value, abstract.pinned(trace, value))
    if type(value) in (types.UnionType, types.GenericAlias):
        trace.guards.add(source, "type", type(value))
        trace.guards.add(source, "truth", SaysTheSame.of(value))
    elif type(value) is re.Match:  # another one in each call, and in each turn of a loop
        return opaque(trace, value, source)
    else:
        trace.guards.add(source, "is", value)
    return Frozen(value, source)


@handles("signature")
def _signature(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`inspect.signature(f)` of a function that exists, or is made here with constant defaults."""
    if len(args) != 1 or kwargs:
        raise Break(calls.C_FUNCTION, function="inspect.signature")
    fn = args[0]
    real = _callable(trace, fn)
    if fn.source is not None:
        abstract.fix(trace, fn.source, fn.real())
    return frozen_result(trace, lambda: inspect.signature(real))


def _callable(trace: Trace, fn: Any) -> Any:
    """Something with the same signature as the callable that `fn` stands for."""
    if isinstance(fn, Method):
        return types.MethodType(_callable(trace, fn.fn), object())
    if isinstance(fn, (Function, Class)):
        if isinstance(fn, Function) and fn.source is not None:
            abstract.fix(trace, fn.source, fn.real())
        return fn.real()
    if isinstance(fn, MadeFunction):
        return _made_function(trace, fn)
    if isinstance(fn, Object) and fn.value is not None and not fn.attrs:
        return fn.value
    raise Break(calls.C_FUNCTION, function="inspect.signature")


def _made_function(trace: Trace, fn: MadeFunction) -> Any:
    """The same for a function that is made here: what it wraps, or one with its parameters."""
    if not _SAYS_ITSELF.isdisjoint(fn.attrs):
        raise Break(calls.C_FUNCTION, function="inspect.signature")
    if "__wrapped__" in fn.attrs:
        return _callable(trace, fn.attrs["__wrapped__"])
    defaults = tuple(abstract.constant_value(trace, d) for d in fn.default_values)
    made = types.FunctionType(fn.code, {}, fn.code.co_name, defaults, _cells(fn.code))
    made.__kwdefaults__ = {k: abstract.constant_value(trace, v) for k, v in fn.kwdefaults.items()}
    annotations = fn.fields.get("__annotations__", fn.annotations)
    if fn.annotated_later():
        annotations = _computed_annotations(trace, fn)
    if annotations is not None:
        made.__annotations__ = abstract.constant_value(trace, annotations)
    return made


def _computed_annotations(trace: Trace, fn: MadeFunction) -> Value:
    """What the function says that computes the annotations of `fn`. Python keeps its answer, and
    suture calls it again: that must not be seen."""
    before = trace.effects.changes, trace.graph.ops
    annotate = fn.fields.get("__annotate__", fn.annotate)
    told: Value = abstract.finish(trace, abstract.call(trace, annotate, [Constant(1)], {}))
    if before != (trace.effects.changes, trace.graph.ops):
        raise Break(calls.C_FUNCTION, function="inspect.signature")
    return told


# Attributes of a function from which a signature is made, whatever its parameters are.
_SAYS_ITSELF = frozenset({"__signature__", "__text_signature__", "_partialmethod"})


def _cells(code: types.CodeType) -> tuple[Any, ...]:
    return tuple(types.CellType() for _ in code.co_freevars)


@handles("dataclass_fields")
def _fields(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`dataclasses.fields`: the class says which, and the table it keeps is guarded."""
    of = args[0]
    if isinstance(of, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="fields", object=of.describe())
    cls = of.real() if isinstance(of, Class) else of.python_type()
    abstract.type_lookup(trace, cls, "__dataclass_fields__")
    return frozen_result(trace, lambda: dataclasses.fields(cls))


@handles(dataclasses.is_dataclass)
def _is_dataclass(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    of = args[0]
    if isinstance(of, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="is_dataclass", object=of.describe())
    cls = of.real() if isinstance(of, Class) else of.python_type()
    abstract.type_lookup(trace, cls, "__dataclass_fields__")
    return abstract.known(trace, dataclasses.is_dataclass(cls))
