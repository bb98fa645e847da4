"""What a trace has seen of hashes, itself or in the order of a set. Hashes of texts are others in
each process, unless PYTHONHASHSEED says which, and so are those of objects by their address: what
was compiled with them is right for this process, and not for another one."""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

from suture.compiler.capture import HASHES_OF_OBJECTS, HASHES_OF_TEXTS
from suture.compiler.core import Trace

_NUMBERS = (int, float, complex)
_NONE_IS_ALWAYS_THE_SAME = sys.version_info >= (3, 12)
# They ask which members a set has, and not in which order.
_WITHOUT_ORDER = frozenset(map(id, (
    operator.contains, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.and_, operator.or_, operator.sub, operator.xor, operator.is_, operator.is_not,
    operator.not_, operator.truth, bool, len, isinstance, type, set, frozenset, callable, hasattr,
)))  # fmt: skip
# Methods of sets that show the order; `__iter__` is looked at where sets are iterated over.
_WITH_ORDER = ("__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__")


def order_was_read(trace: Trace, members: Iterable[Any]) -> None:
    """The order of a set with these members was looked at, as the hash table has it."""
    members = list(members)
    if len(members) > 1:
        for member in members:
            hash_was_read(trace, member)


def hash_was_read(trace: Trace, value: Any) -> None:
    """The hash of an object was looked at."""
    trace.outside.hashes = max(trace.outside.hashes, _kind(value))


def call_is_made(trace: Trace, real: Callable[..., Any], values: Iterable[Any]) -> None:
    """A function of C is called with these objects while tracing."""
    values = list(values)
    owner = getattr(real, "__self__", None)
    if real is hash:
        hash_was_read(trace, values[0] if values else None)
    elif getattr(real, "__name__", None) == "__hash__":
        hash_was_read(trace, values[0] if values else owner)
    elif isinstance(owner, (set, frozenset)):
        if real.__name__ in _WITH_ORDER:
            order_was_read(trace, owner)
    elif id(real) not in _WITHOUT_ORDER:
        for value in values:
            if isinstance(value, (set, frozenset)):
                order_was_read(trace, value)
            elif isinstance(value, (tuple, list)):
                call_is_made(trace, real, value)


def _kind(value: Any) -> int:
    """What the hash of an object depends on: 0 where it is the same in each process."""
    if isinstance(value, enum.Enum):
        return HASHES_OF_TEXTS if type(value).__hash__ is enum.Enum.__hash__ else _plain(value)
    if isinstance(value, (tuple, frozenset)):
        return max(map(_kind, value), default=0)
    return _plain(value)


def _plain(value: Any) -> int:
    if isinstance(value, _NUMBERS) or (value is None and _NONE_IS_ALWAYS_THE_SAME):
        return 0
    if isinstance(value, (str, bytes)):
        return HASHES_OF_TEXTS if value else 0
    return HASHES_OF_OBJECTS
