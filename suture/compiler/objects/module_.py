"""Modules."""

from __future__ import annotations

import types

from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.real_object import RealObject


class Module(RealObject):
    """A Python module."""

    __slots__ = ()

    def describe(self) -> str:
        held = types.ModuleType.__getattribute__(self.value, "__dict__")
        return str(held.get("__name__", "a module")) if isinstance(held, dict) else "a module"

    def getattr(self, trace: Trace, name: str) -> Value:
        return module_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        set_module_attribute(trace, self, name, value)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.value, self.describe().replace(".", "_")))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def module_attribute(trace: Trace, module: Module, name: str) -> Value:
    """An attribute of a Python module: its dict, then the module's own __getattr__."""


@declared
def set_module_attribute(trace: Trace, module: Module, name: str, value: Value) -> None:
    """`module.name = value`: in its dict, or as a descriptor in the module's class does it."""
