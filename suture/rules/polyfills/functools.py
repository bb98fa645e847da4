"""functools: reduce and cmp_to_key."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from suture.rules.substitutes import substitute

_MISSING = object()


@substitute(functools.reduce)
def reduce(
    function: Callable[[Any, Any], Any], iterable: Iterable[Any], initial: Any = _MISSING, /
) -> Any:
    iterator = iter(iterable)
    total = initial
    if total is _MISSING:
        total = next(iterator, _MISSING)
        if total is _MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    for item in iterator:
        total = function(total, item)
    return total


class _Compared:
    """What `cmp_to_key` makes of an item: ordered by what the user's function says."""

    __slots__ = ("compare", "obj")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, compare: Callable[[Any, Any], Any], obj: Any) -> None:
        self.compare = compare
        self.obj = obj

    def __lt__(self, other: Any) -> bool:
        return self.compare(self.obj, _item(other)) < 0

    def __gt__(self, other: Any) -> bool:
        return self.compare(self.obj, _item(other)) > 0

    def __le__(self, other: Any) -> bool:
        return self.compare(self.obj, _item(other)) <= 0

    def __ge__(self, other: Any) -> bool:
        return self.compare(self.obj, _item(other)) >= 0

    def __eq__(self, other: Any) -> bool:
        return self.compare(self.obj, _item(other)) == 0


def _item(other: Any) -> Any:
    if not isinstance(other, _Compared):
        raise TypeError("other argument must be K instance")
    return other.obj


@substitute(functools.cmp_to_key)
def cmp_to_key(mycmp: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def key(obj: Any) -> _Compared:
        return _Compared(mycmp, obj)

    return key
