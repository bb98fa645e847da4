"""Attributes of any object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def bind(
    trace: Trace, raw: Any, obj: object, cls: type, name: str, owner_class: object = None
) -> Any:
    """`raw`, found in a class, as seen through an instance (or through the class itself)."""


@declared
def call_class(trace: Trace, cls: Value, args: list[Any], kwargs: dict[str, Any]) -> Value: ...


@declared
def changed_owner(trace: Trace, table: dict[str, Any]) -> Value | None:
    """The object with attributes set in the region whose dict this is, if there is one."""


@declared
def class_attribute(trace: Trace, cls: Value, name: str) -> Value:
    """`cls.name` for a class that exists."""


@declared
def container_attribute(trace: Trace, obj: Value, name: str) -> Any:
    """An attribute of an iterator, a view, a generator."""


@declared
def dict_is_held(trace: Trace, obj: object) -> bool:
    """Whether the program holds the dict of a real object as a dict of its own."""


@declared
def frozen(trace: Trace, value: Value) -> Value:
    """The variable of a value read from an object that never changes."""


@declared
def frozen_answer(trace: Trace, real: object, args: list[Any], kwargs: dict[str, Any]) -> Value:
    """What a method of such an object gives: made anew by the variant if it can change."""


@declared
def frozen_result(trace: Trace, thunk: Callable[[], Any]) -> Any:
    """What a method of such an object gives, or the exception it raised."""


@declared
def getattr(trace: Trace, obj: object, name: str) -> Any:
    """The attribute, with whatever code that takes run to its end."""


@declared
def instance_attribute(trace: Trace, obj: Value, name: str) -> Value:
    """`obj.name` for an instance of a class with Python attributes."""


@declared
def instance_delete_attribute(trace: Trace, obj: Value, name: str) -> None: ...


@declared
def instance_dict(trace: Trace, obj: Value) -> Any:
    """`obj.__dict__`."""


@declared
def instance_set_attribute(trace: Trace, obj: Value, name: str, value: Value) -> None: ...


@declared
def load_cell(trace: Trace, cell: Value) -> Any:
    """What a cell holds, or None if it is empty."""


@declared
def method(trace: Trace, fn: Callable[..., Any], owner: Value) -> Value: ...


@declared
def module_attribute(trace: Trace, module: Value, name: str) -> Value:
    """An attribute of a Python module: its dict, then the module's own __getattr__."""


@declared
def nn_attribute(trace: Trace, obj: object, name: str) -> Value:
    """What nn.Module.__getattr__ gives."""


@declared
def nn_special(trace: Trace, obj: Value, name: str, value: Value) -> bool:
    """Whether nn.Module.__setattr__ does more than an ordinary store here."""


@declared
def object_attribute(trace: Trace, variable: object, value: object, name: str) -> Value:
    """An attribute of a real object that is known by identity (function, C object)."""


@declared
def object_set_attribute(
    trace: Trace, variable: Value, value: object, name: str, new: Value
) -> None: ...


@declared
def partial_attribute(trace: Trace, obj: Value, name: str) -> Value:
    """`obj.name` for a functools.partial: what was set on it, then what its class has."""


@declared
def set_module_attribute(trace: Trace, module: Value, name: str, value: Value) -> None:
    """`module.name = value`: in its dict, or as a descriptor in the module's class does it."""


@declared
def super_attribute(trace: Trace, sup: Value, name: str) -> Value:
    """`super().name`."""


@declared
def type_lookup(trace: Trace, cls: type, name: str) -> Any:
    """What the class says about `name`, unbound and guarded; MISSING if nothing."""
