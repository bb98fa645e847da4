"""Weak references and weak proxies that exist."""

from __future__ import annotations

import weakref
from typing import Any

from suture.variables.held import Held
from suture.variables.objects import Opaque


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


class WeakProxy(Opaque):
    """A weakref.proxy: its attributes are those of what it refers to."""

    __slots__ = ()

    def getattr(self, tx: Any, name: str) -> Any:
        return self.target(tx).getattr(tx, name)

    def setattr(self, tx: Any, name: str, value: Any) -> None:
        self.target(tx).setattr(tx, name, value)

    def call_method(self, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return tx.tail_call(self.getattr(tx, name), args, kwargs)

    def truth(self, tx: Any) -> Any:
        return self.target(tx).truth(tx)

    def target(self, tx: Any) -> Any:
        return tx.wrap(behind_proxy(self.value), self.source.call(behind_proxy))


def behind_proxy(proxy: Any) -> Any:
    """What a weak proxy refers to, which any of its methods knows; None if that is gone."""
    try:
        return proxy.__str__.__self__
    except ReferenceError:
        return None


def shows_target(proxy: Any) -> bool:
    """Whether what a weak proxy refers to can be had from it."""
    try:
        target = proxy.__str__.__self__
    except (ReferenceError, AttributeError):
        return False
    return type(target) is proxy.__class__ and weakref.getweakrefcount(target) > 0
