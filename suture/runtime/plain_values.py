"""What guards ask of calls that are left to Python because they can meet no tensor."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

from suture._core import UNBOUND

# Types whose objects lead to no other object.
SCALARS = frozenset(
    {bool, int, float, complex, str, bytes, bytearray, type(None), type(...), range, type(UNBOUND)}
)


def holds_scalars(container: Any) -> bool:
    """A list, tuple, set or dict with nothing else in it."""
    if type(container) is dict and not SCALARS.issuperset(map(type, container.values())):
        return False
    return SCALARS.issuperset(map(type, container))


def begins_with_scalars(container: Any) -> bool:
    """A list, tuple, set or dict whose first elements, or their values, are nothing else."""
    parts = container.values() if type(container) is dict else container
    return SCALARS.issuperset(map(type, itertools.islice(parts, _FIRST)))


class Asked:
    """Whether the answer that a call meets no tensor is still taken for granted: for twenty times
    as long as finding it took, so that asking takes a twentieth of the time at most."""

    __slots__ = ("__name__", "until")

    def __init__(self) -> None:
        self.__name__ = "asked a moment ago"
        self.until = math.inf

    def __call__(self) -> bool:
        return time.perf_counter() < self.until

    def answered(self, took: float) -> None:
        """It was found again just now."""
        self.until = time.perf_counter() + min(_TIMES * took, _LONGEST)

    def expire(self) -> None:
        """It is to be found again."""
        self.until = 0.0


_FIRST = 8
_TIMES = 20
_LONGEST = 0.1  # seconds
