"""Methods bound to an object, which its value runs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter


class BoundMethod(Value):
    """`owner.name`, as the program hands it around."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def call(self, trace: Trace, args: list[Any], kwargs: dict[str, Any]) -> Value:
        return abstract.tail_call_method(trace, self.owner, self.name, args, kwargs)

    def hash_key(self, trace: Trace) -> Hashable:
        return (BoundMethod, self.name, self.owner.identity())

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.{self.name}"
