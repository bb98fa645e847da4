"""Context managers. torch's own are plain Python around switches (calls/switches/modes.py)."""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.breaks import Break, contexts
from suture.bytecode import not_a_manager
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING
from suture.compiler.objects import BuiltinMethod, Function, Method
from suture.compiler.objects.methods import find_method


def with_methods(trace: Trace, manager: Any) -> tuple[Any, Any]:
    """The bound __enter__ and __exit__ of a manager, looked up on its type."""
    cls = manager.python_type()
    if cls is torch.device and manager.is_constant():
        return DeviceMethod(manager, "__enter__"), DeviceMethod(manager, "__exit__")
    found = []
    for name in ("__enter__", "__exit__"):
        raw = abstract.type_lookup(trace, cls, name)
        if find_method(type(manager), name) is not None:
            found.append(abstract.getattr(trace, manager, name))
            continue
        if raw is MISSING:
            abstract.raise_(trace, TypeError, not_a_manager(cls))
        if not isinstance(raw, types.FunctionType):
            raise Break(contexts.UNKNOWN_MANAGER, manager=manager.describe())
        found.append(Method(Function(raw, abstract.pinned(trace, raw)), manager))
    return found[0], found[1]


class DeviceMethod(BuiltinMethod):
    """`__enter__` or `__exit__` of a torch.device, which makes it the default in a block."""

    __slots__ = ()

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.device_block(trace, self.owner, self.name)
