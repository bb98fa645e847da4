"""Questions a program asks about its own functions and classes: answered while tracing."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from typing import Any

from suture.breaks import Break, calls, objects
from suture.calls.outside.wrapping import opaque, wraps
from suture.calls.part import Part
from suture.calls.table import handles, special
from suture.variables import (
    Class,
    Function,
    MadeFunction,
    Method,
    Object,
    Opaque,
    Raised,
    Tuple,
    is_literal,
)
from suture.variables.frozen import FORMS, Frozen

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


class Introspection(Part):
    """The part of the tracer that reads objects which never change."""

    def frozen(self, value: Any) -> Any:
        """The variable of a value read from an object that never changes."""
        if type(value) in _FROZEN:
            return Frozen(value, self.pinned(value))
        if type(value) is tuple and not is_literal(value):
            return Tuple([self.frozen(v) for v in value])
        if type(value) in _VIEWS or type(value).__name__ in (
            "odict_keys",
            "odict_values",
            "odict_items",
        ):
            return Tuple([self.frozen(v) for v in value])
        return self.wrap(value, None)

    def frozen_answer(self, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a method of such an object gives: made anew by the variant if it can change."""
        values = [self.constant_value(a) for a in args]
        named = {k: self.constant_value(v) for k, v in kwargs.items()}
        return self.call_now(real, values, named)

    def frozen_result(self, thunk: Any) -> Any:
        """What a method of such an object gives, or the exception it raised."""
        try:
            value = thunk()
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:
            raise Raised(self.native_exception(error)) from None
        return self.frozen(value)


_FROZEN = frozenset(
    {inspect.Signature, inspect.Parameter, dataclasses.Field, types.MappingProxyType}
    | {re.Pattern, re.Match}
)


@wraps(inspect.Signature, inspect.Parameter, dataclasses.Field, re.Pattern, re.Match, *FORMS)
def _wrap_frozen(tx: Any, value: Any, source: Any) -> Any:
    if source is None:
        return Frozen(value, tx.pinned(value))
    if type(value) in (types.UnionType, types.GenericAlias):
        tx.guards.add(source, "type", type(value))
        tx.guards.add(source, "truth", _SaysTheSame(value))
    elif type(value) is re.Match:  # another one in each call, and in each turn of a loop
        return opaque(tx, value, source)
    else:
        tx.guards.add(source, "is", value)
    return Frozen(value, source)


class _SaysTheSame:
    """A predicate for guards: each `X | None` and `list[X]` is a new object."""

    __slots__ = ("__name__", "parts")

    def __init__(self, value: Any) -> None:
        self.parts = typing.get_origin(value), value.__args__
        self.__name__ = f"says {value!r}"

    def __call__(self, other: Any) -> bool:
        return self.parts == (typing.get_origin(other), other.__args__)


@special("signature")
def _signature(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """`inspect.signature(f)` of a function that exists, or is made here with constant defaults."""
    if len(args) != 1 or kwargs:
        raise Break(calls.C_FUNCTION, function="inspect.signature")
    fn = args[0]
    real = _callable(tx, fn)
    if fn.source is not None:
        tx.fix(fn.source, fn.real())
    return tx.frozen_result(lambda: inspect.signature(real))


def _callable(tx: Any, fn: Any) -> Any:
    """Something with the same signature as the callable that `fn` stands for."""
    if isinstance(fn, Method):
        return types.MethodType(_callable(tx, fn.fn), object())
    if isinstance(fn, (Function, Class)):
        if isinstance(fn, Function) and fn.source is not None:
            tx.fix(fn.source, fn.real())
        return fn.real()
    if isinstance(fn, MadeFunction):
        return _made_function(tx, fn)
    if isinstance(fn, Object) and fn.value is not None and not fn.attrs:
        return fn.value
    raise Break(calls.C_FUNCTION, function="inspect.signature")


def _made_function(tx: Any, fn: MadeFunction) -> Any:
    """The same for a function that is made here: what it wraps, or one with its parameters."""
    if not _SAYS_ITSELF.isdisjoint(fn.attrs):
        raise Break(calls.C_FUNCTION, function="inspect.signature")
    if "__wrapped__" in fn.attrs:
        return _callable(tx, fn.attrs["__wrapped__"])
    defaults = tuple(tx.constant_value(d) for d in fn._defaults)
    made = types.FunctionType(fn.code, {}, fn.code.co_name, defaults, _cells(fn.code))
    made.__kwdefaults__ = {k: tx.constant_value(v) for k, v in fn.kwdefaults.items()}
    annotations = fn.fields.get("__annotations__", fn.annotations)
    if annotations is not None:
        made.__annotations__ = tx.constant_value(annotations)
    return made


# Attributes of a function from which a signature is made, whatever its parameters are.
_SAYS_ITSELF = frozenset({"__signature__", "__text_signature__", "_partialmethod"})


def _cells(code: Any) -> tuple[Any, ...]:
    return tuple(types.CellType() for _ in code.co_freevars)


@special("dataclass_fields")
def _fields(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """`dataclasses.fields`: the class says which, and the table it keeps is guarded."""
    of = args[0]
    if isinstance(of, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="fields", object=of.describe())
    cls = of.real() if isinstance(of, Class) else of.python_type()
    tx.type_lookup(cls, "__dataclass_fields__")
    return tx.frozen_result(lambda: dataclasses.fields(cls))


@handles(dataclasses.is_dataclass)
def _is_dataclass(tx: Any, args: Any, kwargs: Any) -> Any:
    of = args[0]
    if isinstance(of, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="is_dataclass", object=of.describe())
    cls = of.real() if isinstance(of, Class) else of.python_type()
    tx.type_lookup(cls, "__dataclass_fields__")
    return tx.known(dataclasses.is_dataclass(cls))
