"""Attributes of nn.Module, which keeps parameters, buffers and children in dicts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from suture._core import type_name
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.objects import Constant, Dict, Object
from suture.compiler.objects.lookup import has_plain_keys

_TABLES = ("_parameters", "_buffers", "_modules")
_NONE_KNOWN = (None, None, None)


@implements(abstract.nn_attribute)
def nn_attribute(trace: Trace, obj: Any, name: str) -> Value:
    known = _known_tables(trace, obj)
    for place, part in enumerate(_TABLES):
        table: Value | None = known[place]
        if table is None:
            table = instance_value(trace, obj, part)
        if type(table) is Dict and table.lacks(trace, name):
            continue
        found = _in_table(trace, table, name)
        if found is not None:
            return found
    return abstract.raise_(
        trace,
        AttributeError,
        f"'{type_name(obj.python_type())}' object has no attribute '{name}'",
    )


def _known_tables(trace: Trace, obj: Any) -> Sequence[Dict | None]:
    """Those of the tables that were read of this module before, as `instance_value` gives them."""
    value = obj.value if type(obj) is Object and not obj.attrs else None
    if not isinstance(value, torch.nn.Module):
        return _NONE_KNOWN
    held, known = object.__getattribute__(value, "__dict__"), trace.outside.known
    if id(held) in known or not has_plain_keys(held):
        return _NONE_KNOWN
    source = obj.known_source.instance_dict()
    tables: list[Dict | None] = []
    for part in _TABLES:
        entry = known.get(id(held.get(part)))
        found: Any = None if entry is None else entry[1]
        is_read = type(found) is Dict and found.source is source.item(part)
        tables.append(found if is_read else None)
    return tables


def _in_table(trace: Trace, table: Value | None, name: str) -> Value | None:
    if isinstance(table, Dict):
        return table.get(trace, Constant(name))
    if table is None or not abstract.truth(trace, abstract.contains(trace, table, Constant(name))):
        return None
    return abstract.getitem(
        trace, table, Constant(name)
    )  # of a class that has its own way to give it


def nn_special(trace: Trace, obj: Value, name: str, value: Value) -> bool:
    """Whether nn.Module.__setattr__ does more than an ordinary store here."""
    if isinstance(value, Object) and issubclass(value.cls, torch.nn.Module):
        return True
    if issubclass(value.python_type(), torch.nn.Parameter):
        return True
    tables = [instance_value(trace, obj, part) for part in _TABLES]
    return any(_in_table(trace, table, name) is not None for table in tables)
