"""Arguments: whether a call binds, and CPython's own words where it does not.

The words are asked of CPython: a call with as many arguments, but of no value, fails in the same
way before it does anything.
"""

from __future__ import annotations

import collections
import functools
import inspect
import types
from typing import Any, NoReturn

from suture.breaks import Break, calls
from suture.bytecode.language import MAP_TAKES_STRICT
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.models import Handler

# Callables whose signature Python cannot tell: (fewest, most or None, names of keywords or None).
_ARITY: dict[Any, tuple[int, int | None, frozenset[str] | None]] = {
    dict: (0, 1, None),
    int: (0, 2, frozenset({"base"})),
    str: (0, 3, frozenset({"object", "encoding", "errors"})),
    bytes: (0, 3, frozenset({"source", "encoding", "errors"})),
    range: (1, 3, frozenset()),
    slice: (1, 3, frozenset()),
    zip: (0, None, frozenset({"strict"})),
    map: (2, None, frozenset({"strict"} if MAP_TAKES_STRICT else ())),
    filter: (2, 2, frozenset()),
    bool: (0, 1, frozenset()),
    iter: (1, 2, frozenset()),
    next: (1, 2, frozenset()),
    getattr: (2, 3, frozenset()),
    super: (0, 2, frozenset()),
    set: (0, 1, frozenset()),
    frozenset: (0, 1, frozenset()),
    list: (0, 1, frozenset()),
    tuple: (0, 1, frozenset()),
    min: (1, None, frozenset({"key", "default"})),
    max: (1, None, frozenset({"key", "default"})),
    type: (1, 3, None),
    types.GetSetDescriptorType.__get__: (2, 3, frozenset()),
    types.MemberDescriptorType.__get__: (2, 3, frozenset()),
    property.__get__: (2, 3, frozenset()),
    enumerate: (1, 2, frozenset({"iterable", "start"})),
    reversed: (1, 1, frozenset()),
    collections.deque: (0, 2, frozenset({"iterable", "maxlen"})),
    collections.OrderedDict: (0, 1, None),
}


@functools.cache
def _limits(real: object) -> Any:
    found = _ARITY.get(real)
    if found is not None:
        return found
    if not isinstance(real, (types.BuiltinFunctionType, types.WrapperDescriptorType)):
        return None
    try:
        return inspect.signature(real)
    except (TypeError, ValueError):
        return None


def binds(real: object, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether the number and the names of the arguments are right; True if nobody knows."""
    try:
        limits = _limits(real)
    except TypeError:  # not hashable
        return True
    if limits is None:
        return True
    if isinstance(limits, tuple):
        fewest, most, names = limits
        if names is not None and not names.issuperset(kwargs):
            return False
        return fewest <= len(args) + len(kwargs) and (most is None or len(args) <= most)
    try:
        limits.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def in_place(
    real: object, args: list[Value], kwargs: dict[str, Value]
) -> tuple[list[Any], dict[str, Any]]:
    """The same arguments, with those given by name that have a place there in their place."""
    limits = _limits(real)
    if not isinstance(limits, inspect.Signature):
        return args, kwargs
    args, kwargs = list(args), dict(kwargs)
    for parameter in list(limits.parameters.values())[len(args) :]:
        by_name = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if not by_name or parameter.name not in kwargs:
            break
        args.append(kwargs.pop(parameter.name))
    return args, kwargs


def _nothing() -> None:
    return None


def stub_of(code: types.CodeType, name: str, defaults: int, kwdefaults: Any) -> Any:
    """A function that takes the same arguments and does nothing."""
    plain = code.replace(
        co_code=_nothing.__code__.co_code,
        co_consts=_nothing.__code__.co_consts,
        co_exceptiontable=b"",
        co_freevars=(),
        co_cellvars=(),
        co_flags=code.co_flags & (0x01 | 0x02 | 0x04 | 0x08),
    )
    made = types.FunctionType(plain, {}, name, (None,) * defaults)
    made.__kwdefaults__ = dict.fromkeys(kwdefaults)
    made.__qualname__ = name
    return made


def _of_arguments(error: Exception) -> bool:
    """Whether a handler found no argument where it looked, or one that is not real yet: the call
    has a form that it was not written for."""
    entry = error.__traceback__.tb_next if error.__traceback__ is not None else None
    if entry is None:
        return False
    inner = entry.tb_next
    return inner is None or (inner.tb_next is None and inner.tb_frame.f_code.co_name == "real")


@implements(abstract.handle)
def call_handler(
    trace: Trace, handler: Handler, real: object, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if not binds(real, args, kwargs):
        return refuse_arguments(trace, real, args, kwargs)
    if kwargs:
        args, kwargs = in_place(real, args, kwargs)
    try:
        return handler(trace, args, kwargs)
    except (LookupError, ValueError) as error:
        if not _of_arguments(error):
            raise
        name = getattr(real, "__qualname__", "a function")
        raise Break(calls.C_FUNCTION, function=name) from error


@implements(abstract.refused)
def refuse_arguments(
    trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]
) -> NoReturn:
    nothing = object()
    try:
        real(*[nothing] * len(args), **dict.fromkeys(kwargs, nothing))
    except TypeError as error:
        abstract.raise_(trace, TypeError, *error.args)
    except Exception:
        pass
    raise Break(calls.C_FUNCTION, function=getattr(real, "__name__", "a function"))


@implements(abstract.refused_method)
def refused_method(
    trace: Trace, kind: type, name: str, args: list[Value], kwargs: dict[str, Value]
) -> NoReturn:
    try:
        method = getattr(kind(), name)
    except Exception:
        raise Break(calls.C_FUNCTION, function=name) from None
    refuse_arguments(trace, method, args, kwargs)


def refused_function(
    trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]
) -> NoReturn:
    """The same for a Python function."""
    name = abstract.constant_value(trace, abstract.getattr(trace, fn, "__qualname__"))
    stub = stub_of(fn.code, name, fn.default_count, fn.kwdefault_names())
    refuse_arguments(trace, stub, args, kwargs)
