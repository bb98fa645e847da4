"""Methods of Python's types, in tables, as CPython keeps them.

`@method(List, "append")` registers what `append` does to a list: a function of the value, the trace
and the arguments. A class has the methods of its bases. A wrong number of arguments is the
program's TypeError (`calls.builtin_methods.builtin_method`).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar

from suture.compiler.core import Trace, Value

F = TypeVar("F", bound=Callable[..., Any])

_TABLES: dict[type, dict[str, Callable[..., Any]]] = {}
_FOUND: dict[tuple[type, str], Callable[..., Any] | None] = {}


def method(kind: type[Value], *names: str) -> Callable[[F], F]:
    """Register a method of the values of class `kind` under these names."""

    def register(fn: F) -> F:
        table = _TABLES.setdefault(kind, {})
        for name in names:
            if name in table:
                raise KeyError(f"{kind.__name__} has a method {name} already")
            table[name] = fn
        _FOUND.clear()
        return fn

    return register


def find_method(kind: type, name: str) -> Callable[..., Value] | None:
    """The method that values of class `kind` have under `name`, or None."""
    try:
        return _FOUND[kind, name]
    except KeyError:
        tables = (_TABLES.get(base) for base in kind.__mro__)
        found = next((t[name] for t in tables if t is not None and name in t), None)
        _FOUND[kind, name] = found
        return found


def run_method(trace: Trace, value: Value, name: str, /, *args: object, **kwargs: Value) -> Value:
    """`value.name(...)`, by the table. The method must be there."""
    found = find_method(type(value), name)
    assert found is not None, name
    return found(value, trace, *args, **kwargs)


def type_of_bound(cls: type, name: str) -> type:
    """The type of method `name` bound to an instance of `cls`."""
    raw = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if isinstance(raw, (types.FunctionType, classmethod)):
        return types.MethodType
    if isinstance(raw, staticmethod):
        return type(raw.__func__)
    wraps_slot = isinstance(raw, types.WrapperDescriptorType)
    return types.MethodWrapperType if wraps_slot else types.BuiltinMethodType
