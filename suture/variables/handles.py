"""Callables in C that stand for something else: cached functions and weak references."""

from __future__ import annotations

from typing import Any

from suture.variables.base import Variable
from suture.variables.constant import Constant, is_literal
from suture.variables.functions import RealIdentity


class Cached(Variable):
    """A function under functools.lru_cache.

    Called with constants it is called for real: the cache would give the same result at the
    next call too. Otherwise its function is traced, without the cache.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any, source: Any) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def real(self) -> Any:
        return self.value

    def describe(self) -> str:
        return str(getattr(self.value, "__qualname__", "a cached function"))

    def identity(self) -> Any:
        return RealIdentity(self.value)

    def hash_key(self, tx: Any) -> Any:
        return RealIdentity(self.value)

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = [*args, *kwargs.values()]
        if all(a.is_constant() and is_literal(a.constant()) for a in given):
            return tx.call_cached(self.value, args, kwargs)
        return tx.tail_call(tx.wrap(self.value.__wrapped__, None), args, kwargs)

    def getattr(self, tx: Any, name: str) -> Any:
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return Constant(getattr(self.value, name))
        return tx.wrap(getattr(self.value, name), None)


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
