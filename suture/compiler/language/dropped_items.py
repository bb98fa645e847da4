"""Objects with a finalizer that only a list from outside holds: where the region takes one out of
it, the region ends, so that the object is freed there and not after all that the region does."""

from __future__ import annotations

import gc
import itertools
from collections import deque
from typing import Any

from suture.breaks import Break, objects
from suture.compiler.core import Trace
from suture.compiler.language.dropped import LASTING, is_holder, kept_outside, reached
from suture.compiler.objects import List
from suture.compiler.objects.growing import GrowingList

_MOST_ITEMS = 1_000  # of a list, that are looked at


def dropped_item(trace: Trace) -> Break | None:
    """Why the region ends here: the instruction has taken an object out of a list that held it.
    None if it has not. Whoever has it now: were the list written when the region ends, the object
    would be freed before what the region writes after it."""
    finalized = trace.finalized
    if finalized.scanned < len(trace.effects.touched) or finalized.unread:
        _watch_changed_lists(trace)
    if not finalized.in_lists:
        return None
    listed = {id(getattr(item, "value", None)) for at in finalized.lists for item in at.items}
    gone = [real for real in finalized.in_lists if id(real) not in listed]
    if not gone:
        return None
    found = reached(kept_outside(trace), _changed_objects(trace))
    for real in gone:
        if id(real) not in found:
            return Break(objects.FINALIZED_HERE, type=type(real).__name__)
    finalized.in_lists = [real for real in finalized.in_lists if id(real) in listed]
    return None


def _watch_changed_lists(trace: Trace) -> None:
    """Remember the objects with a finalizer that only lists and deques hold which the region
    changes. A list that grows is looked into when the region does so."""
    finalized = trace.finalized
    new = itertools.islice(trace.effects.touched.values(), finalized.scanned, None)
    lists = [v for v in new if isinstance(v, List) and v.source is not None] + finalized.unread
    finalized.scanned = len(trace.effects.touched)
    finalized.unread = [v for v in lists if _is_unread(v)]
    read = {id(v) for v in lists if not _is_unread(v)}
    if not read or trace.region.whole:
        return
    for real, value in list(trace.outside.known.values()):
        if id(value) in read and type(real) in (list, deque):
            found = _held_by_lists(trace, real)
            finalized.in_lists += found
            finalized.lists += [value] if found else []


def _held_by_lists(trace: Trace, real: Any) -> list[Any]:
    """The items at whose end something happens, and that nothing holds but what the region
    changes."""
    found: list[Any] = []
    ours = [id(found), id(trace.finalized.in_lists)]
    containers: set[int] = set()
    for item in itertools.islice(real, _MOST_ITEMS):
        if hasattr(type(item), "__del__") and not issubclass(type(item), LASTING):
            containers = containers or {*_changed_objects(trace), *ours}
            if all(id(of) in containers for of in gc.get_referrers(item) if is_holder(type(of))):
                found.append(item)
    return found


def _is_unread(value: object) -> bool:
    return isinstance(value, GrowingList) and not value.loaded()


def _changed_objects(trace: Trace) -> set[int]:
    """The ids of the real objects that the region changes when it ends."""
    touched = trace.effects.touched
    return {
        id(real)
        for real, value in trace.outside.known.values()
        if id(value) in touched and not _is_unread(value)
    }
