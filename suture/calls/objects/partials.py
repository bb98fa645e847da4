"""Attributes of functools.partial objects."""

from __future__ import annotations

from typing import Any

from suture.calls.objects.attributes import C_CALLABLES, MISSING, find_in_mro
from suture.calls.part import Part
from suture.variables import BuiltinMethod


class Partials(Part):
    """The part of the tracer that reads what partials hold."""

    def partial_attribute(self, obj: Any, name: str) -> Any:
        """`obj.name` for a functools.partial: what was set on it, then what its class has."""
        found = self.instance_value(obj, name)
        if found is not MISSING:
            return found
        raw = find_in_mro(obj.cls, name)
        if isinstance(raw, C_CALLABLES):
            return obj if name == "__call__" else BuiltinMethod(obj, name)
        return self.no_attribute(obj, name) if raw is MISSING else self.wrap(raw, None)
