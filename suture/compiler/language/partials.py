"""Attributes of functools.partial objects."""

from __future__ import annotations

from typing import Any

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import (
    C_CALLABLES,
    MISSING,
    find_in_mro,
    no_attribute,
)
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.objects import BuiltinMethod, partial
from suture.compiler.objects.bound_method import CallMethod


@implements(partial.partial_attribute)
def partial_attribute(trace: Trace, obj: Any, name: str) -> Value:
    found = instance_value(trace, obj, name)
    if found is not None:
        return found
    raw = find_in_mro(obj.cls, name)
    if isinstance(raw, C_CALLABLES):
        return CallMethod(obj) if name == "__call__" else BuiltinMethod(obj, name)
    return no_attribute(trace, obj, name) if raw is MISSING else abstract.wrap(trace, raw, None)
