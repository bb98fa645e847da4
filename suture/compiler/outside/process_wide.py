"""What a program reads of its process: the environment variables."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any, TypeVar

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Function, Object

Default = TypeVar("Default")


def environment_value(trace: Trace, name: Any, default: Default) -> Value | Default:
    """The variable `name` of the environment, guarded; `default` if there is none."""
    table, key = _table(), _key(abstract.constant_value(trace, name))
    source = abstract.pinned(trace, table, "os.environ")
    if key not in table:
        trace.guards.add(source, "no_key", key)
        return default
    trace.guards.add(source.item(key), "equals", table[key])
    return Constant(os.environ.decodevalue(table[key]))


def _table() -> dict[Any, Any]:
    held: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]
    return held


def _key(name: str) -> Any:
    return os.environ.encodekey(name)


@handles(os.getenv)
def _getenv(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = args[0] if args else kwargs["key"]
    default = args[1] if len(args) > 1 else kwargs.get("default", Constant(None))
    return environment_value(trace, name, default)


Model = Callable[[Trace, list[Value], dict[str, Value]], Value]


def _environment_method(method: Callable[..., Any]) -> Callable[[Model], Model]:
    """A method that all mappings share: the environment is asked here, others are traced."""
    assert isinstance(method, types.FunctionType)  # it is written in Python

    def register(fn: Model) -> Model:
        def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
            if isinstance(args[0], Object) and args[0].value is os.environ:
                return fn(trace, args, kwargs)
            return abstract.inline(
                trace, Function(method, abstract.pinned(trace, method)), args, kwargs
            )

        handles(method)(handler)
        return fn

    return register


@_environment_method(type(os.environ).get)
def _get(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    default = args[2] if len(args) > 2 else kwargs.get("default", Constant(None))
    return environment_value(trace, args[1], default)


@_environment_method(type(os.environ).__contains__)
def _contains(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(environment_value(trace, args[1], None) is not None)


@handles(type(os.environ).__getitem__)
def _getitem(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    found = environment_value(trace, args[1], None)
    return (
        found
        if found is not None
        else abstract.raise_(trace, KeyError, abstract.constant_value(trace, args[1]))
    )
