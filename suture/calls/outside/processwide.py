"""What a program asks of its process: the environment variables."""

from __future__ import annotations

import os
from typing import Any

from suture.calls.part import Part
from suture.calls.table import handles
from suture.variables import Constant, Function, Object


class ProcessWide(Part):
    """The part of the tracer that asks the environment."""

    def environment(self, name: Any, default: Any) -> Any:
        """The variable `name` of the environment, guarded; `default` if there is none."""
        table, key = _table(), _key(self.constant_value(name))
        source = self.pinned(table, "os.environ")
        if key not in table:
            self.guards.add(source, "no_key", key)
            return default
        self.guards.add(source.item(key), "equals", table[key])
        return Constant(os.environ.decodevalue(table[key]))


def _table() -> dict[Any, Any]:
    return os.environ._data  # type: ignore[attr-defined]


def _key(name: str) -> Any:
    return os.environ.encodekey(name)


@handles(os.getenv)
def _getenv(tx: Any, args: Any, kwargs: Any) -> Any:
    name = args[0] if args else kwargs["key"]
    default = args[1] if len(args) > 1 else kwargs.get("default", Constant(None))
    return tx.environment(name, default)


def _ask_environment(method: Any) -> Any:
    """A method that all mappings share: the environment is asked here, others are traced."""

    def register(fn: Any) -> Any:
        def handler(tx: Any, args: Any, kwargs: Any) -> Any:
            if isinstance(args[0], Object) and args[0].value is os.environ:
                return fn(tx, args, kwargs)
            return tx.inline(Function(method, tx.pinned(method)), args, kwargs)

        handles(method)(handler)
        return fn

    return register


@_ask_environment(type(os.environ).get)
def _get(tx: Any, args: Any, kwargs: Any) -> Any:
    default = args[2] if len(args) > 2 else kwargs.get("default", Constant(None))
    return tx.environment(args[1], default)


@_ask_environment(type(os.environ).__contains__)
def _contains(tx: Any, args: Any, kwargs: Any) -> Any:
    return Constant(tx.environment(args[1], None) is not None)


@handles(type(os.environ).__getitem__)
def _getitem(tx: Any, args: Any, kwargs: Any) -> Any:
    found = tx.environment(args[1], None)
    return found if found is not None else tx.raise_(KeyError, tx.constant_value(args[1]))
