"""Context managers. torch's own are plain Python around switches (calls/switches/modes.py)."""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.breaks import Break, contexts
from suture.bytecode import not_a_manager
from suture.calls.objects.attributes import MISSING
from suture.calls.part import Part
from suture.variables import BuiltinMethod, Function, Method


class Contexts(Part):
    """The part of the tracer that enters blocks."""

    def with_methods(self, manager: Any) -> tuple[Any, Any]:
        """The bound __enter__ and __exit__ of a manager, looked up on its type."""
        cls = manager.python_type()
        if cls is torch.device and manager.is_constant():
            return DeviceMethod(manager, "__enter__"), DeviceMethod(manager, "__exit__")
        found = []
        for name in ("__enter__", "__exit__"):
            raw = self.type_lookup(cls, name)
            if hasattr(type(manager), "m_" + name):
                found.append(self.getattr(manager, name))
                continue
            if raw is MISSING:
                self.raise_(TypeError, not_a_manager(cls))
            if not isinstance(raw, types.FunctionType):
                raise Break(contexts.UNKNOWN_MANAGER, manager=manager.describe())
            found.append(Method(Function(raw, self.pinned(raw)), manager))
        return found[0], found[1]


class DeviceMethod(BuiltinMethod):
    """`__enter__` or `__exit__` of a torch.device, which makes it the default in a block."""

    __slots__ = ()

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return tx.device_block(self.owner, self.name)
