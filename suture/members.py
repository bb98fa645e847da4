"""Objects that are held weakly, by identity, and that any thread adds to at any time."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Members(Generic[T]):
    """A set of living objects. Going through one sees those of the moment it began: a WeakSet
    fails there as soon as another thread adds, because its loop is Python's, not one step."""

    def __init__(self) -> None:
        self._living: weakref.WeakValueDictionary[int, T] = weakref.WeakValueDictionary()

    def add(self, member: T) -> None:
        self._living[id(member)] = member

    def __iter__(self) -> Iterator[T]:
        found = (ref() for ref in self._living.valuerefs())  # copied in one step
        return iter([member for member in found if member is not None])

    def __len__(self) -> int:
        return len(self._living)
