"""Lists, tuples and sizes from outside, with their guards."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import GrowingList, GrowingTuple, Lazy, Size, Tuple
from suture.compiler.objects.wraps import wraps
from suture.compiler.outside.growth import is_unstable, unstable_value
from suture.compiler.outside.wrapping import opaque
from suture.runtime.sources import Source

_MOST_ITEMS = 200_000  # a longer sequence is only passed around


@wraps(tuple)
def _tuple(trace: Trace, value: Any, source: Source | None) -> Value:
    if len(value) > _MOST_ITEMS:
        return opaque(trace, value, source)
    if source is not None and source.kind == "slot":  # a loop may make a longer one of it
        trace.guards.add(source, "type", tuple)
        return GrowingTuple(lambda: _loaded(trace, value, source), source)
    return Tuple(_items(trace, value, source), source)


@wraps(torch.Size)
def _size(trace: Trace, value: object, source: Source | None) -> Value:
    return Size(_items(trace, value, source), source)


@wraps(list)
def _list(trace: Trace, value: list[Any], source: Source | None) -> Value:
    source = source if source is not None else abstract.pinned(trace, value, "a list")
    trace.guards.add(source, "type", list)
    return GrowingList(lambda: _loaded(trace, value, source), source, value)


def _loaded(trace: Trace, value: Any, source: Source) -> list[Any]:
    """The items of a list or tuple that is read."""
    if is_unstable(trace, source, len(value)):
        raise unstable_value(trace, source)
    return _items(trace, value, source)


def _items(trace: Trace, value: Any, source: Source | None) -> list[Any]:
    if len(value) > _MOST_ITEMS and type(value) is list:
        raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=f"{len(value)} items")
    if source is None:
        return [Lazy(v, None) for v in value]
    trace.guards.add(source, "type", type(value))
    trace.guards.add(source, "len", len(value))
    return [Lazy(v, source.index(i)) for i, v in enumerate(value)]
