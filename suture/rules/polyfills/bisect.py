"""bisect: indices in a sorted sequence."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

from suture.rules.substitutes import substitute

Key = Callable[[Any], Any] | None


def _bounds(a: Sequence[Any], lo: int, hi: int | None) -> tuple[int, int]:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    return lo, len(a) if hi is None else hi


@substitute(bisect.bisect_left)
def bisect_left(
    a: Sequence[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None
) -> int:
    low, high = _bounds(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if item < x:
            low = middle + 1
        else:
            high = middle
    return low


@substitute(bisect.bisect_right)
def bisect_right(
    a: Sequence[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None
) -> int:
    low, high = _bounds(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if x < item:
            high = middle
        else:
            low = middle + 1
    return low


@substitute(bisect.insort_left)
def insort_left(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None) -> None:
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


@substitute(bisect.insort_right)
def insort_right(a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None) -> None:
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)
