"""Predicates of guards that C does not know, as objects that say what they compare."""

from __future__ import annotations

from typing import Any


class Equals:
    """Equal to a value that C does not know."""

    __slots__ = ("__name__", "value")

    def __init__(self, value: Any) -> None:
        from suture.breaks import readable

        self.value = value
        self.__name__ = f"equals {readable(value, 80)}"

    def __call__(self, other: Any) -> bool:
        return bool(self.value == other)


class SameDefaults:
    """A function with as many defaults as before: (how many, names of those by keyword)."""

    __slots__ = ("__name__", "counts")

    def __init__(self, counts: tuple[int, list[str]]) -> None:
        self.counts = counts
        self.__name__ = "same_defaults"

    def __call__(self, fn: Any) -> bool:
        return self.counts == (len(fn.__defaults__ or ()), sorted(fn.__kwdefaults__ or ()))
