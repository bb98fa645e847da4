"""Tensors that fake tensors cannot stand for: sparse, nested, quantized, of an unknown subclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break
from suture.variables.base import Variable
from suture.variables.objects import Opaque


class Refused(Opaque):
    """A real tensor that no graph can hold. It may be passed around; `why` makes the break that
    any use of it is."""

    __slots__ = ("why",)

    def __init__(self, value: Any, source: Any, why: Callable[[], Break]) -> None:
        super().__init__(value, source)
        self.why = why

    def as_proxy(self) -> Any:
        raise self.why()

    def constant(self) -> Any:
        raise self.why()

    def getattr(self, tx: Any, name: str) -> Any:
        if callable(getattr(type(self.value), name, None)):
            return RefusedMethod(self, name)
        raise self.why()

    def setattr(self, tx: Any, name: str, value: Any) -> None:
        raise self.why()

    def call_method(self, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return tx.method_of_refused(self, name, args, kwargs)


class RefusedMethod(Variable):
    """A bound method of such a tensor."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Refused, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return tx.tail_call_method(self.owner, self.name, args, kwargs)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.owner)}.{self.name}"
