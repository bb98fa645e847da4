"""Items of lists and tuples at an index that changes from call to call.

Layers that share a variant read their own entry of a cache, `cache.layers[self.index]`. If the
index were known there would be one variant for each layer. So the item has a source that goes
through two others: the list, and the int that says where to look. What is read of the item is
guarded below that source, as it is for any object from outside.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Lazy, Trace, Value
from suture.compiler.objects import Sequence, Symbol, sequence

# What a region reads of these is part of its code, or is reached by ways that start at an object
# which stays the same: a variant for each is right.
_KNOWN = (torch.nn.Module, type, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


@implements(sequence.picked_item)
def picked_item(trace: Trace, of: Sequence, key: Value) -> Value | None:
    if not isinstance(key, Symbol) or key.source is None or not _is_as_outside(of):
        return None
    hint = key.value.node.hint if isinstance(key.value, torch.SymInt) else None
    if type(hint) is not int or not -len(of.items) <= hint < len(of.items):
        return None
    item = of.items[hint]
    # One that was looked at already has been changed, or is guarded by its place in the list.
    if type(item) is not Lazy or item.source is not of.known_source.index(hint % len(of.items)):
        return None
    if issubclass(type(item.value), _KNOWN):
        return None
    source = of.known_source.pick(key.source)
    found = trace.outside.picked.get(id(source))
    if found is None:
        found = trace.outside.picked[id(source)] = abstract.wrap(trace, item.value, source)
    return found


def _is_as_outside(of: Any) -> bool:
    """Whether the sequence holds what the real one does."""
    return of.kind in (list, tuple) and not of.changed and of.source.stored is None
