"""`sorted` and `list.sort`."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.objects import list_
from suture.compiler.objects.constant import is_plain

_MOST_SORTED = 256  # items that are compared one by one, each time with a guard


def sorted_(trace: Trace, items: list[Any], key: Value | None, reverse: Value | None) -> list[Any]:
    """The items in order."""
    ordered = list(items)
    sort_list(trace, ordered, key, reverse)
    return ordered


@implements(list_.sort)
def sort_list(trace: Trace, items: list[Any], key: Value | None, reverse: Value | None) -> None:
    if key is not None and key.is_constant() and key.constant() is None:
        key = None
    if key is not None and not all(i.is_constant() for i in items):
        _refuse_many(items)
    keys = items if key is None else [abstract.call(trace, key, [i], {}) for i in items]
    backwards = reverse is not None and abstract.truth(trace, reverse)
    known = _known_order(keys, backwards)
    if known is not None:
        items[:] = [items[i] for i in known]
        return
    _refuse_many(items)
    wrapped = [_Sortable(trace, k, i) for k, i in zip(keys, items)]
    try:
        wrapped.sort(reverse=backwards)
    finally:
        items[:] = [w.item for w in wrapped]


def _refuse_many(items: list[Any]) -> None:
    if len(items) > _MOST_SORTED:
        what = f"{len(items)} items"
        raise Break(objects.UNKNOWN_OBJECT, operation="sort", object=what)


def _known_order(keys: list[Any], backwards: bool) -> list[int] | None:
    """The order of keys that are all plain values, for which nobody needs to be asked."""
    if not all(k.is_constant() for k in keys):
        return None
    values = [k.constant() for k in keys]
    if not all(is_plain(v) for v in values):
        return None
    try:
        return sorted(range(len(keys)), key=values.__getitem__, reverse=backwards)
    except TypeError:  # the program's own, to be found where it comes up
        return None


class _Sortable:
    """Lets Python's sort compare two values as the program would."""

    __slots__ = ("item", "key", "trace")

    def __init__(self, trace: Trace, key: Any, item: Any) -> None:
        self.trace = trace
        self.key = key
        self.item = item

    def __lt__(self, other: Any) -> bool:
        return bool(
            abstract.truth(self.trace, abstract.compare(self.trace, "<", self.key, other.key))
        )
