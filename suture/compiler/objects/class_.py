"""Classes, and super()."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, objects
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.real_object import RealObject

# What torch takes a Python type for where it wants a dtype; a graph can print only these.
_DTYPES: dict[type, Any] = {
    int: torch.int64,
    float: torch.float64,
    bool: torch.bool,
    complex: torch.complex128,
}


class Class(RealObject):
    """A class that exists."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        return self.real()

    def as_proxy(self) -> Any:
        return _DTYPES.get(self.value, self.value)

    def describe(self) -> str:
        return str(self.value.__qualname__)

    def truth(self, trace: Trace) -> bool | None:
        if hasattr(type(self.value), "__bool__") or hasattr(type(self.value), "__len__"):
            return bool(self.value)
        return True

    def getattr(self, trace: Trace, name: str) -> Value:
        return class_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise Break(
            objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.value.__qualname__
        )

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return call_class(trace, self, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.value, self.value.__name__))


class MadeClass(Class):
    """A class that each call makes anew: one of its shape may be there at the next call."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        raise Break(objects.UNKNOWN_OBJECT, operation="compute with", object=self.describe())

    def as_proxy(self) -> Any:
        raise Break(objects.UNKNOWN_OBJECT, operation="compute with", object=self.describe())


class Super(Value):
    """super(): attribute lookup that starts behind `after` in the MRO of `owner`'s class."""

    __slots__ = ("after", "owner")

    def __init__(self, after: type, owner: Any) -> None:
        super().__init__(None)
        self.after = after
        self.owner = owner

    def python_type(self) -> type:
        return super

    def getattr(self, trace: Trace, name: str) -> Value:
        return super_attribute(trace, self, name)

    def rebuild(self, emit: Emitter) -> str:
        return f"super({emit.constant(self.after, 'cls')}, {emit.value(self.owner)})"


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def call_class(trace: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`cls(...)`: what the metaclass, `__new__` and `__init__` do. May leave a frame."""


@declared
def class_attribute(trace: Trace, cls: Class, name: str) -> Value:
    """`cls.name` for a class that exists."""


@declared
def super_attribute(trace: Trace, sup: Super, name: str) -> Value:
    """`super().name`."""
