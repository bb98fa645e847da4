"""Attributes of nn.Module, which keeps parameters, buffers and children in dicts of their own."""

from __future__ import annotations

from typing import Any

import torch

from suture._core import type_name
from suture.calls.objects.attributes import MISSING
from suture.calls.part import Part
from suture.variables import Constant, Dict, Object

_TABLES = ("_parameters", "_buffers", "_modules")


class ModuleAttributes(Part):
    """The part of the tracer that knows where modules keep things."""

    def nn_attribute(self, obj: Any, name: str) -> Any:
        """What nn.Module.__getattr__ gives."""
        for part in _TABLES:
            found = self._in_table(self.instance_value(obj, part), name)
            if found is not None:
                return found
        return self.raise_(
            AttributeError,
            f"'{type_name(obj.python_type())}' object has no attribute '{name}'",
        )

    def _in_table(self, table: Any, name: str) -> Any:
        if isinstance(table, Dict):
            return table.get(self, Constant(name))
        if table is MISSING or not self.truth(self.contains(table, Constant(name))):
            return None
        return self.getitem(table, Constant(name))  # of a class that has its own way to give it

    def nn_special(self, obj: Any, name: str, value: Any) -> bool:
        """Whether nn.Module.__setattr__ does more than an ordinary store here."""
        if isinstance(value, Object) and issubclass(value.cls, torch.nn.Module):
            return True
        if issubclass(value.python_type(), torch.nn.Parameter):
            return True
        tables = [self.instance_value(obj, part) for part in _TABLES]
        return any(self._in_table(table, name) is not None for table in tables)
