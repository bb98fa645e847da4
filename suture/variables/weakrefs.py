"""Weak references that exist."""

from __future__ import annotations

import weakref
from typing import Any

from suture.variables.base import Variable
from suture.variables.functions import RealIdentity


class WeakReference(Variable):
    """A weakref.ref without a callback that can be asked what it refers to."""

    __slots__ = ("value",)

    def __init__(self, value: weakref.ref[Any], source: Any) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real(self) -> Any:
        return self.value

    def identity(self) -> Any:
        return RealIdentity(self.value)

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What it refers to: known already if the program holds it too."""
        target = self.value()
        known = tx._known.get(id(target)) if tx.is_fixed(self.source) else None
        if known is not None:
            return known[1]
        return tx.wrap(target, self.source.call(dereferenced))


def dereferenced(reference: weakref.ref[Any]) -> Any:
    """What a weak reference refers to; None if that is gone."""
    return reference()
