"""Tensors that fake tensors cannot stand for: sparse, nested, quantized, of an unknown subclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.opaque import Opaque
from suture.runtime.sources import Source


class Refused(Opaque):
    """A real tensor that no graph can hold. It may be passed around, and asked for what it is;
    `why` makes the break that any other use of it is."""

    __slots__ = ("why",)

    def __init__(self, value: Any, source: Source | None, why: Callable[[], Break]) -> None:
        super().__init__(value, source)
        self.why = why

    def as_proxy(self) -> Any:
        raise self.why()

    def constant(self) -> Any:
        raise self.why()

    def getattr(self, trace: Trace, name: str) -> Value:
        if callable(getattr(type(self.value), name, None)):
            return BoundMethod(self, name)
        return fact_of_refused(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise self.why()

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        return method_of_refused(trace, self, name, args, kwargs)


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def method_of_refused(
    trace: Trace, tensor: Refused, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a tensor that is no value of the graph: some have a break of their own."""


@declared
def fact_of_refused(trace: Trace, tensor: Refused, name: str) -> Value:
    """An attribute that says what kind of tensor it is, guarded; any other breaks."""
