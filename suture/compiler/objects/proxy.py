"""Read-only views of dicts: types.MappingProxyType."""

from __future__ import annotations

import types
from collections.abc import Hashable

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.methods import method
from suture.runtime.sources import Source

_READING = frozenset(
    {"__getitem__", "__len__", "__contains__", "__iter__", "__reversed__", "__or__", "__ror__"}
    | {"get", "keys", "values", "items", "copy", "__eq__", "__ne__"}
)


class Proxy(Value):
    """A view of the dict `behind`: what the dict holds, without a way to change it."""

    __slots__ = ("behind",)

    def __init__(self, behind: Value, source: Source | None = None) -> None:
        super().__init__(source)
        self.behind = behind

    def python_type(self) -> type:
        return types.MappingProxyType

    def truth(self, trace: Trace) -> bool | None:
        return self.behind.truth(trace)

    def hash_key(self, trace: Trace) -> Hashable:
        return abstract.raise_(trace, TypeError, "unhashable type: 'mappingproxy'")

    def getattr(self, trace: Trace, name: str) -> Value:
        if name in _READING:
            return abstract.getattr(trace, self.behind, name)
        if name == "__class__":
            return abstract.wrap(trace, types.MappingProxyType, None)
        return abstract.raise_(
            trace, AttributeError, f"'mappingproxy' object has no attribute '{name}'"
        )

    def rebuild(self, emit: Emitter) -> str:
        view = emit.constant(types.MappingProxyType, "MappingProxyType")
        return f"{view}({emit.value(self.behind)})"


@method(Proxy, "__getitem__")
def proxy_getitem(self: Proxy, trace: Trace, key: Value) -> Value:
    return abstract.getitem(trace, self.behind, key)


@method(Proxy, "__len__")
def proxy_len(self: Proxy, trace: Trace) -> Value:
    return abstract.length(trace, self.behind)


@method(Proxy, "__contains__")
def proxy_contains(self: Proxy, trace: Trace, key: Value) -> Value:
    return abstract.contains(trace, self.behind, key)


@method(Proxy, "__iter__")
def proxy_iter(self: Proxy, trace: Trace) -> Value:
    return abstract.iterate(trace, self.behind)


@method(Proxy, "__eq__")
def proxy_eq(self: Proxy, trace: Trace, other: Value) -> Value:
    return abstract.compare(
        trace, "==", self.behind, other.behind if type(other) is Proxy else other
    )


@method(Proxy, "__ne__")
def proxy_ne(self: Proxy, trace: Trace, other: Value) -> Value:
    return abstract.compare(
        trace, "!=", self.behind, other.behind if type(other) is Proxy else other
    )


@method(Proxy, "__or__")
def proxy_or(self: Proxy, trace: Trace, other: Value) -> Value:
    return abstract.binary(trace, "or_", self.behind, other)


@method(Proxy, "__reversed__")
def proxy_reversed(self: Proxy, trace: Trace) -> Value:
    return abstract.call(trace, abstract.getattr(trace, self.behind, "__reversed__"), [], {})
