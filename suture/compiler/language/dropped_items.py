"""Objects whose end a program can see and that only containers and objects from outside hold: where
the region takes one out of them, the region ends, so that the object is freed there and not after
all that the region does."""

from __future__ import annotations

import gc
import itertools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from suture.breaks import Break, objects
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.dropped import ends_visibly, is_holder, kept_outside, reached
from suture.compiler.objects import Dict, List, Object, Sequence, Symbol, sequence
from suture.compiler.objects.growing import GrowingList

_MOST_ITEMS = 1_000  # of a container, that are looked at
_SEQUENCES = (list, deque)
_MAPPINGS = (dict, OrderedDict, defaultdict)


def dropped_item(trace: Trace) -> Break | None:
    """Why the region ends here: the instruction has taken an object out of what held it. None if it
    has not. Whoever has it now: were the container written when the region ends, the object would
    be freed before what the region writes after it."""
    finalized = trace.finalized
    if finalized.scanned < len(trace.effects.touched) or finalized.unread:
        _watch_changed(trace)
    if not finalized.in_containers:
        return None
    held = {id(part) for real, value in finalized.containers for part in _left(real, value)}
    gone = [real for real in finalized.in_containers if id(real) not in held]
    if not gone:
        return None
    changed = _changed_objects(trace)
    found = reached(kept_outside(trace), changed)
    ours = changed | {id(gone), id(finalized.in_containers)}
    for real in gone:
        if id(real) not in found and not _is_held_by_others(real, ours):
            return Break(objects.FINALIZED_HERE, type=type(real).__name__)
    finalized.in_containers = [real for real in finalized.in_containers if id(real) in held]
    return None


@implements(sequence.may_put)
def may_put(trace: Trace, of: Sequence, key: Value) -> bool:
    index, number = key.source, key.value if isinstance(key, Symbol) else None
    if not isinstance(of, GrowingList) or index is None or not isinstance(number, torch.SymInt):
        return False
    if of.put:
        return index in of.put
    if not 0 <= number.node.hint < len(of.outside):
        return False
    if sequence.picked_item(trace, of, key) is None:
        return False
    return not ends_visibly(of.outside[number.node.hint])


def _watch_changed(trace: Trace) -> None:
    """Remember the objects whose end can be seen in what the region changes. A list that grows is
    looked into when the region does so."""
    finalized = trace.finalized
    new = itertools.islice(trace.effects.touched.values(), finalized.scanned, None)
    changed = [v for v in new if _is_watched(v)] + finalized.unread
    finalized.scanned = len(trace.effects.touched)
    finalized.unread = [v for v in changed if _is_unread(v)]
    read = {id(v) for v in changed if not _is_unread(v)}
    if not read or trace.region.whole:
        return
    for real, value in list(trace.outside.known.values()):
        if id(value) not in read:
            continue
        found = [part for part in itertools.islice(_parts(real), _MOST_ITEMS) if ends_visibly(part)]
        if found:
            finalized.in_containers += found
            finalized.containers.append((real, value))


def _is_watched(value: Any) -> bool:
    return isinstance(value, (List, Dict, Object)) and value.source is not None


def _parts(real: Any) -> Iterator[Any]:
    """What a real object holds itself: a list or dict its items, any other its attributes."""
    if type(real) in _SEQUENCES:
        yield from real
    elif type(real) in _MAPPINGS:
        yield from real.values()
    else:
        yield from _attributes(real).values()


def _attributes(real: Any) -> dict[str, Any]:
    try:
        table: dict[str, Any] = object.__getattribute__(real, "__dict__")
    except AttributeError:
        return {}
    return table


def _left(real: Any, value: Any) -> Iterator[Any]:
    """What it holds of that by now, as the region has changed it."""
    if isinstance(value, List):
        yield from _real(value.items)
    elif isinstance(value, Dict):
        yield from _real(item for _, item in value.entries.values())
    else:
        yield from (part for name, part in _attributes(real).items() if name not in value.attrs)
        yield from _real(value.attrs.values())


def _real(values: Iterable[Any]) -> Iterator[Any]:
    """The real objects behind values, of those that have one."""
    return (getattr(value, "value", None) for value in values)


def _is_held_by_others(real: Any, ours: set[int]) -> bool:
    """Whether something holds an object that is neither what the region changes nor suture's."""
    return any(id(of) not in ours for of in gc.get_referrers(real) if is_holder(type(of)))


def _is_unread(value: object) -> bool:
    return isinstance(value, GrowingList) and not value.loaded()


def _changed_objects(trace: Trace) -> set[int]:
    """The ids of the real objects that the region changes when it ends, of their attributes' dicts,
    and of what is kept of their former contents."""
    touched = trace.effects.touched
    found: set[int] = set()
    for real, value in trace.outside.known.values():
        if id(value) in touched and not _is_unread(value):
            found.add(id(real))
            if isinstance(value, Object):
                found.add(id(_attributes(real)))
            elif isinstance(value, Dict):
                found.add(id(value.original))
    return found
