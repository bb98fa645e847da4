"""Keys that are told apart by identity: at the next call the objects must be different again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Lazy, Trace
from suture.compiler.objects import Constant, ConstantMethod, Method, Tuple
from suture.compiler.objects.address import Address
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.constant import Volatile
from suture.compiler.objects.made_weakref import MadeReference
from suture.compiler.objects.weakref import WeakReference
from suture.compiler.outside.identity import stay_apart

Pairs = list[tuple[Any, Any]]
_MOST_PAIRS = 16


@implements(abstract.keep_apart)
def keep_apart(trace: Trace, key: Any, others: Iterable[Any]) -> None:
    if not _is_by_identity(trace, key):
        return
    pairs = [pair for other in others for pair in _differing(trace, key, other) or ()]
    if len(pairs) > _MOST_PAIRS:
        for left in {id(left): left for left, _ in pairs}.values():
            if _fixed_as_it_is(trace, left):
                pairs = [pair for pair in pairs if pair[0] is not left]
    for left, right in pairs:
        stay_apart(trace, left, right)


def _fixed_as_it_is(trace: Trace, value: Any) -> bool:
    """Whether a guard now says which object it is, instead of many that say which it is not."""
    try:
        abstract.fix(trace, value.source, value.real())
    except LookupError:
        return False
    return True


def _is_by_identity(trace: Trace, key: Any) -> bool:
    """Whether an object from outside that has no value of its own is the key, or in it."""
    if type(key) is Lazy or isinstance(key, (Constant, Volatile)) or key.is_constant():
        return False
    if type(key) is Address:
        return key.owner.source is not None
    items = list(key.entries.values()) if _is_frozenset(key) else _items(trace, key)
    if items is None:
        return key.source is not None
    return any(_is_by_identity(trace, item) for item in items)


def _items(trace: Trace, key: Any) -> list[Any] | None:
    """What a key is made of, if it is a tuple, also one with names, or a bound method."""
    if type(key) is Method:
        return [key.fn, key.owner]
    if isinstance(key, (BoundMethod, ConstantMethod)):
        return [Constant(key.name), key.owner]
    if type(key) is MadeReference:
        return [key.to]
    if type(key) is WeakReference and key.value() is not None:
        return [key.call(trace, [], {})]
    part = abstract.builtin_part(trace, key)
    return list(part.unpacked(trace)) if isinstance(part, Tuple) else None


def _differing(trace: Trace, left: Any, right: Any) -> Pairs | None:
    """The objects that are two now and must stay two, so that these keys stay different; empty
    where they are equal, or nothing is known; None where they differ for another reason, which
    guards on their values and types hold already."""
    if type(left) is Address and type(right) is Address:
        left, right = left.owner, right.owner
    parts, others = _items(trace, left), _items(trace, right)
    if parts is not None and others is not None:
        return _first_differing(trace, parts, others)
    if left.is_constant() and right.is_constant():
        one, other = left.constant(), right.constant()
        return [] if one is other or one == other else None
    if _is_frozenset(left) and _is_frozenset(right):
        return _any_differing(trace, left, right)
    if type(left) is not type(right) or isinstance(left, (Constant, Volatile)):
        return []
    if left.identity() == right.identity():
        return []
    # What is made in this call is no object from outside, whichever comes in.
    made = left.source is None or right.source is None
    return None if made else [(left, right)]


def _first_differing(trace: Trace, left: list[Any], right: list[Any]) -> Pairs | None:
    """Of two tuples: one item that stays different is enough."""
    if len(left) != len(right):
        return None
    found: Pairs = []
    for one, other in zip(left, right):
        pairs = _differing(trace, one, other)
        if pairs is None:
            return None
        found = found or pairs
    return found


def _is_frozenset(value: Any) -> bool:
    return value.python_type() is frozenset and hasattr(value, "entries")


def _any_differing(trace: Trace, left: Any, right: Any) -> Pairs | None:
    """Of two frozensets: no member of one may become one of the other that it is not yet."""
    if len(left.entries) != len(right.entries):
        return None
    found: Pairs = []
    for at, one in left.entries.items():
        if at not in right.entries:
            for other in right.entries.values():
                found += _differing(trace, one, other) or []
    return found
