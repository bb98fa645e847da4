"""Attributes of nn.Module, which keeps parameters, buffers and children in dicts of their own."""

from __future__ import annotations

from typing import Any

import torch

from suture._core import type_name
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import instance_value
from suture.compiler.objects import Constant, Dict, Object

_TABLES = ("_parameters", "_buffers", "_modules")


@implements(abstract.nn_attribute)
def nn_attribute(trace: Trace, obj: Any, name: str) -> Value:
    for part in _TABLES:
        found = _in_table(trace, instance_value(trace, obj, part), name)
        if found is not None:
            return found
    return abstract.raise_(
        trace,
        AttributeError,
        f"'{type_name(obj.python_type())}' object has no attribute '{name}'",
    )


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
