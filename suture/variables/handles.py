"""Weak references."""

from __future__ import annotations

from typing import Any

from suture.variables.base import Variable
from suture.variables.functions import RealIdentity


class Reference(Variable):
    """A weak reference that came from outside. Its object, if alive, is guarded to be the same."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source: Any) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real(self) -> Any:
        return self.value

    def identity(self) -> Any:
        return RealIdentity(self.value)

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if args or kwargs:
            return tx.raise_(TypeError, "a weak reference takes no arguments")
        return tx.wrap(self.value(), self.source.call(referent))


def referent(ref: Any) -> Any:
    """The object of a weak reference, or None."""
    return ref()
