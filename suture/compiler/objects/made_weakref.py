"""Weak references made while tracing."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.models import handles
from suture.compiler.objects.constant import Constant


class MadeReference(Value):
    """A weak reference to `to`."""

    __slots__ = ("to",)

    def __init__(self, to: Value) -> None:
        super().__init__(None)
        self.to = to

    def python_type(self) -> type:
        return weakref.ref

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if args or kwargs:
            return abstract.raise_(trace, TypeError, "a weak reference takes no arguments")
        if self.to.source is None and is_dropped(trace, self):
            return Constant(None)
        return self.to

    def hash_key(self, trace: Trace) -> Hashable:
        return (weakref.ref, self.to.hash_key(trace))

    def identity(self) -> Hashable:
        return (weakref.ref, self.to.identity())  # an object has one without a callback

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.constant(weakref.ref, 'ref')}({emit.value(self.to)})"


@handles("weakref")
def _make(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if len(args) == 2 and args[1].is_constant() and args[1].constant() is None:
        args = args[:1]  # no callback
    if len(args) != 1 or kwargs:
        raise Break(objects.WEAKREF, object=args[0].describe() if args else "nothing")
    kind = args[0].python_type()
    if not kind.__weakrefoffset__:
        return abstract.raise_(
            trace, TypeError, f"cannot create weak reference to '{type_name(kind)}' object"
        )
    return MadeReference(args[0])


@declared
def is_dropped(trace: Trace, reference: MadeReference) -> bool:
    """Whether the program has let go of an object made here, so that it is gone: nothing but weak
    references leads to it."""
