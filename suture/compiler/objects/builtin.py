"""Callables in C, and other objects that are known by identity."""

from __future__ import annotations

import types
from collections.abc import Hashable
from typing import Any

from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import real_object
from suture.compiler.objects.real_object import RealObject


class Builtin(RealObject):
    """Any other callable or object known by identity: C functions, descriptors, modules."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        return self.real()

    def hash_key(self, trace: Trace) -> Hashable:
        # Made anew at each access, `type.__call__` compares by its object and what it calls.
        return self.value if type(self.value) is types.MethodWrapperType else self.identity()

    def as_proxy(self) -> Any:
        return self.value

    def describe(self) -> str:
        name = getattr(self.value, "__qualname__", None) or getattr(self.value, "__name__", None)
        return str(name) if name else f"a {type(self.value).__name__}"

    def getattr(self, trace: Trace, name: str) -> Value:
        return real_object.object_attribute(trace, self, self.value, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        real_object.object_set_attribute(trace, self, self.value, name, value)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return call_builtin(trace, self, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.value, getattr(self.value, "__name__", "object")))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def call_builtin(trace: Trace, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a C function, a method descriptor, an operator of torch..."""
