"""Weak references: the object behind one is known as long as the trace lasts."""

from __future__ import annotations

import weakref
from typing import Any

from suture.breaks import Break, objects
from suture.calls.table import special
from suture.calls.wrapping import wraps
from suture.variables import Variable


class WeakRef(Variable):
    """A weak reference to `to` (a constant None if the object is gone)."""

    __slots__ = ("to",)

    def __init__(self, to: Any, source: Any = None) -> None:
        super().__init__(source)
        self.to = to

    def python_type(self) -> type:
        return weakref.ref

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if args or kwargs:
            return tx.raise_(TypeError, "weakref expected at most 0 arguments")
        return self.to

    def hash_key(self, tx: Any) -> Any:
        return self.to.hash_key(tx)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.constant(weakref.ref, 'ref')}({emit.value(self.to)})"


@special("weakref")
def _make(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    if len(args) != 1 or kwargs:
        raise Break(objects.WEAKREF, object=args[0].describe() if args else "nothing")
    if not args[0].python_type().__weakrefoffset__:
        return tx.raise_(
            TypeError, f"cannot create weak reference to '{args[0].python_type().__name__}' object"
        )
    return WeakRef(args[0])


@wraps(weakref.ReferenceType)
def _wrap(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a weak reference")
    tx.guards.add(source, "type", weakref.ReferenceType)
    return WeakRef(tx.wrap(value(), source.call(_behind)), source)


def _behind(reference: Any) -> Any:
    return reference()
