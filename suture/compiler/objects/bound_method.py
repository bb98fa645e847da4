"""Methods bound to an object, which its value runs."""

from __future__ import annotations

import types
from collections.abc import Hashable

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter


class BoundMethod(Value):
    """`owner.name`, as the program hands it around."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Value, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.tail_call_method(trace, self.owner, self.name, args, kwargs)

    def hash_key(self, trace: Trace) -> Hashable:
        return (BoundMethod, self.name, self.owner.identity())

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.{self.name}"


class CallMethod(BoundMethod):
    """`f.__call__` of a function, a method or a partial object: the slot by which it is called."""

    __slots__ = ()

    def __init__(self, owner: Value) -> None:
        super().__init__(owner, "__call__")

    def python_type(self) -> type:
        return types.MethodWrapperType

    def describe(self) -> str:
        return f"{self.owner.describe()}.__call__"

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "__self__":
            return self.owner
        if name == "__call__":
            return CallMethod(self)
        return super().getattr(trace, name)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.tail_call(trace, self.owner, args, kwargs)
