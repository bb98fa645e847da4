"""Objects that exist while tracing; identity tells them apart."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from suture.compiler.core import Value
from suture.runtime.sources import Source


class RealIdentity:
    """Compares by identity of a real object."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RealIdentity) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of) >> 4


class Pair:
    """Compares two identities at once."""

    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        self.b = b

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and other.a == self.a and other.b == self.b

    def __hash__(self) -> int:
        return hash((self.a, self.b))


class RealObject(Value):
    """The value of a real object, `value`."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real(self) -> Any:
        return self.value

    def identity(self) -> Hashable:
        return RealIdentity(self.value)
