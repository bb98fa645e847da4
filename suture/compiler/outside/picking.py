"""Items of lists, tuples and dicts under an index or a key that changes from call to call.

Layers that share a variant read their own entry of a cache, `cache.layers[self.index]`. If the
index were known there would be one variant for each layer. So the item has a source that goes
through two others: the list, and the int that says where to look. What is read of the item is
guarded below that source, as it is for any object from outside. In a dict that is so for ints, for
texts, and for texts with one number in them (`cache[f"layer_{self.index}"]`).
"""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Lazy, Trace, Value
from suture.compiler.objects import (
    Constant,
    Dict,
    GrowingList,
    OfType,
    Sequence,
    Symbol,
    dict_,
    sequence,
)
from suture.compiler.objects.text import METHODS, Field, Text
from suture.compiler.outside.inputs import wrap_number
from suture.runtime.reads import TextOf
from suture.runtime.sources import Source

# What a region reads of these is part of its code, or is reached by ways that start at an object
# which stays the same: a variant for each is right.
_KNOWN = (torch.nn.Module, type, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


@implements(sequence.picked_item)
def picked_item(trace: Trace, of: Sequence, key: Value) -> Value | None:
    if not isinstance(key, Symbol) or key.source is None:
        return None
    unread = of if isinstance(of, GrowingList) and not of.loaded() else None
    if unread is not None and unread.put:
        put = unread.put.get(key.source)
        return put[2] if put is not None else None
    hint = _hint(key)
    if hint is None or of.known_source.stored is not None:
        return None
    if unread is not None and hint >= len(unread.outside):
        return _added_item(trace, unread, key, hint - len(unread.outside))
    item = _unread_item(of, hint) if unread is None else _real_item(unread, hint)
    if item is _NONE or issubclass(type(item), _KNOWN):
        return None
    return _picked(trace, item, of.known_source.pick(key.source))


def _picked(trace: Trace, item: object, source: Source) -> Value:
    found = trace.outside.picked.get(id(source))
    if found is None:
        found = trace.outside.picked[id(source)] = abstract.wrap(trace, item, source)
    return found


@implements(dict_.picked_entry)
def picked_entry(trace: Trace, of: Dict, key: Value) -> Value | None:
    """Of a dict that is as it came: what was put into one may be under the key in another call."""
    if type(of) is not Dict or type(of.backing) is not dict or of.changed:
        return None
    if of.source is None or of.source.stored is not None:
        return None
    where, hint = _key_from_outside(trace, key)
    if where is None or hint not in of.backing:
        return None
    item = of.backing[hint]
    if issubclass(type(item), _KNOWN):
        return None
    return _picked(trace, item, of.source.pick(where))


def _key_from_outside(trace: Trace, key: Value) -> tuple[Source | None, Any]:
    """Where a key that changes is found, and which one it is now; None if it is none."""
    if isinstance(key, Symbol) and key.source is not None:
        hint = _hint(key)
        return (key.source, hint) if hint is not None else (None, None)
    if type(key) is OfType and not key.is_read() and key.python_type() is str:
        path = key.known_source.path()
        if trace.region.history.changing_text(trace.region.plan, path, key.unread()):
            return key.source, key.unread()
    if type(key) is Text:
        return _text_from_outside(key)
    return None, None


def _text_from_outside(key: Text) -> tuple[Source | None, Any]:
    """The same for a text with one number in it."""
    fields = [i for i, part in enumerate(key.parts) if isinstance(part, Field)]
    if len(fields) != 1:
        return None, None
    (at,) = fields
    field = key.parts[at]
    number = field.value
    if not isinstance(number, Symbol) or number.source is None or field.how in METHODS:
        return None, None
    hint = _hint(number)
    if hint is None or not all(type(given) is str for given in field.given):
        return None, None
    before, after = "".join(key.parts[:at]), "".join(key.parts[at + 1 :])
    reader = TextOf(before, field.how, field.given, after)
    return number.source.call(reader), reader(hint)


def _hint(number: Symbol) -> int | None:
    hint = number.value.node.hint if isinstance(number.value, torch.SymInt) else None
    return hint if type(hint) is int else None


_NONE = object()


def _real_item(of: GrowingList, hint: int) -> object:
    """What was at the index when the region began, of a list whose items nobody has asked for."""
    return of.outside[hint] if 0 <= hint < len(of.outside) else _NONE


def _added_item(trace: Trace, of: GrowingList, key: Value, at: int) -> Value | None:
    """What was appended at an index that is as far behind the items from outside in each call."""
    if at >= len(of.added):
        return None
    # The index changes, so the length does too.
    trace.region.history.changes(of.known_source.call(len).path())
    length = outside_length(trace, of)
    if length is None:
        return None
    expected = abstract.binary(trace, "add", length, Constant(at))
    same = abstract.compare(trace, "==", key, expected)
    return of.added[at] if abstract.truth(trace, same) else None


def _unread_item(of: Any, hint: int) -> object:
    """The same of a sequence that holds what the real one does. One that was looked at already has
    been changed, or is guarded by its place."""
    length = len(of.items)
    if of.kind not in (list, tuple) or of.changed or not -length <= hint < length:
        return _NONE
    item = of.items[hint]
    if type(item) is not Lazy or item.source is not of.known_source.index(hint % length):
        return _NONE
    return item.value


@implements(sequence.outside_length)
def outside_length(trace: Trace, of: Sequence) -> Value | None:
    assert isinstance(of, GrowingList)
    source, length = of.known_source.call(len), len(of.outside)
    if of.known_source.stored is not None:
        return None
    trace.region.history.differs_by_layer(source.path())
    return wrap_number(trace, length, source)
