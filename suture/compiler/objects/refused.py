"""Tensors that fake tensors cannot stand for: sparse, nested, quantized, of an unknown subclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.instance import Opaque
from suture.runtime.sources import Source


class Refused(Opaque):
    """A real tensor that no graph can hold. It may be passed around; `why` makes the break that
    any use of it is."""

    __slots__ = ("why",)

    def __init__(self, value: Any, source: Source | None, why: Callable[[], Break]) -> None:
        super().__init__(value, source)
        self.why = why

    def as_proxy(self) -> Any:
        raise self.why()

    def constant(self) -> Any:
        raise self.why()

    def getattr(self, trace: Trace, name: str) -> Value | None:
        if callable(getattr(type(self.value), name, None)):
            return RefusedMethod(self, name)
        raise self.why()

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise self.why()

    def call_method(
        self, trace: Trace, name: str, args: list[Any], kwargs: dict[str, Any]
    ) -> Value:
        return abstract.method_of_refused(trace, self, name, args, kwargs)


class RefusedMethod(Value):
    """A bound method of such a tensor."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Refused, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def call(self, trace: Trace, args: list[Any], kwargs: dict[str, Any]) -> Value | None:
        return abstract.tail_call_method(trace, self.owner, self.name, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.{self.name}"
