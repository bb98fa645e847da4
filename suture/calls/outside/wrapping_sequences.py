"""Lists, tuples and sizes from outside, with their guards."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, objects
from suture.calls.outside.wrapping import opaque, wraps
from suture.variables import GrowingList, GrowingTuple, Lazy, Size, Tuple

_MOST_ITEMS = 200_000  # a longer sequence is only passed around


@wraps(tuple)
def _tuple(tx: Any, value: Any, source: Any) -> Any:
    if len(value) > _MOST_ITEMS:
        return opaque(tx, value, source)
    if source is not None and source.kind == "slot":  # a loop may make a longer one of it
        tx.guards.add(source, "type", tuple)
        return GrowingTuple(lambda: _loaded(tx, value, source), source)
    return Tuple(_items(tx, value, source), source)


@wraps(torch.Size)
def _size(tx: Any, value: Any, source: Any) -> Any:
    return Size(_items(tx, value, source), source)


@wraps(list)
def _list(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a list")
    tx.guards.add(source, "type", list)
    return GrowingList(lambda: _loaded(tx, value, source), source)


def _loaded(tx: Any, value: Any, source: Any) -> list[Any]:
    """The items of a list or tuple that somebody asks for."""
    if tx.is_restless(source, len(value)):
        raise tx.restless(source)
    return _items(tx, value, source)


def _items(tx: Any, value: Any, source: Any) -> list[Any]:
    if len(value) > _MOST_ITEMS and type(value) is list:
        raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=f"{len(value)} items")
    if source is None:
        return [Lazy(v, None) for v in value]
    tx.guards.add(source, "type", type(value))
    tx.guards.add(source, "len", len(value))
    return [Lazy(v, source.index(i)) for i, v in enumerate(value)]
