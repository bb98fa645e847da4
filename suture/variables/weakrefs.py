"""Weak references that exist."""

from __future__ import annotations

import weakref
from typing import Any

from suture.variables.held import Held


class WeakReference(Held):
    """A weakref.ref without a callback that can be asked what it refers to."""

    __slots__ = ()

    def hash_key(self, tx: Any) -> Any:
        """Of what it refers to: two references to one object are one key."""
        if self.value() is None:
            return super().hash_key(tx)
        return (weakref.ref, self.call(tx, [], {}).hash_key(tx))

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
