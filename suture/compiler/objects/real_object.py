"""Objects that exist while tracing; identity tells them apart."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
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


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def object_attribute(trace: Trace, variable: object, value: object, name: str) -> Value:
    """An attribute of a real object that is known by identity (function, C object)."""


@declared
def object_set_attribute(
    trace: Trace, variable: Value, value: object, name: str, new: Value
) -> None:
    """Set an attribute of a real object that is known by identity: Break, since others see it."""
