"""Read-only views of dicts: types.MappingProxyType."""

from __future__ import annotations

import types
from typing import Any

from suture.variables.base import Variable

_READING = frozenset(
    {"__getitem__", "__len__", "__contains__", "__iter__", "__reversed__", "__or__", "__ror__"}
    | {"get", "keys", "values", "items", "copy", "__eq__", "__ne__"}
)


class Proxy(Variable):
    """A view of the dict `behind`: what the dict holds, without a way to change it."""

    __slots__ = ("behind",)

    def __init__(self, behind: Any, source: Any = None) -> None:
        super().__init__(source)
        self.behind = behind

    def python_type(self) -> type:
        return types.MappingProxyType

    def truth(self, tx: Any) -> Any:
        return self.behind.truth(tx)

    def hash_key(self, tx: Any) -> Any:
        return tx.raise_(TypeError, "unhashable type: 'mappingproxy'")

    def getattr(self, tx: Any, name: str) -> Any:
        if name in _READING:
            return tx.getattr(self.behind, name)
        if name == "__class__":
            return tx.wrap(types.MappingProxyType, None)
        return tx.raise_(AttributeError, f"'mappingproxy' object has no attribute '{name}'")

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        return tx.getitem(self.behind, key)

    def m___len__(self, tx: Any) -> Any:
        return tx.length(self.behind)

    def m___contains__(self, tx: Any, key: Any) -> Any:
        return tx.contains(self.behind, key)

    def m___iter__(self, tx: Any) -> Any:
        return tx.iterate(self.behind)

    def m___eq__(self, tx: Any, other: Any) -> Any:
        return tx.compare("==", self.behind, other.behind if type(other) is Proxy else other)

    def m___ne__(self, tx: Any, other: Any) -> Any:
        return tx.compare("!=", self.behind, other.behind if type(other) is Proxy else other)

    def m___or__(self, tx: Any, other: Any) -> Any:
        return tx.binary("or_", self.behind, other)

    def rebuild(self, emit: Any) -> str:
        view = emit.constant(types.MappingProxyType, "MappingProxyType")
        return f"{view}({emit.value(self.behind)})"
