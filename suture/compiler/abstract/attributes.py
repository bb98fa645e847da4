"""Attributes of any object."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def bind(trace: Trace, raw: Any, obj: Any, cls: type, name: str, owner_class: Any = None) -> Any:
    """`raw`, found in a class, as seen through an instance (or through the class itself)."""


@declared
def call_class(trace: Trace, cls: Value, args: list[Any], kwargs: dict[str, Any]) -> Any: ...


@declared
def changed_owner(trace: Trace, table: dict[str, Any]) -> Any:
    """The object with attributes set in the region whose dict this is, if there is one."""


@declared
def class_attribute(trace: Trace, cls: Value, name: str) -> Any:
    """`cls.name` for a class that exists."""


@declared
def container_attribute(trace: Trace, obj: Any, name: str) -> Any:
    """An attribute of an iterator, a view, a generator."""


@declared
def dict_is_held(trace: Trace, obj: Any) -> bool:
    """Whether the program holds the dict of a real object as a dict of its own."""


@declared
def frozen(trace: Trace, value: Any) -> Any:
    """The variable of a value read from an object that never changes."""


@declared
def frozen_answer(trace: Trace, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a method of such an object gives: made anew by the variant if it can change."""


@declared
def frozen_result(trace: Trace, thunk: Any) -> Any:
    """What a method of such an object gives, or the exception it raised."""


@declared
def getattr(trace: Trace, obj: Any, name: str) -> Any:
    """The attribute, with whatever code that takes run to its end."""


@declared
def instance_attribute(trace: Trace, obj: Any, name: str) -> Any:
    """`obj.name` for an instance of a class with Python attributes."""


@declared
def instance_delete_attribute(trace: Trace, obj: Any, name: str) -> None: ...


@declared
def instance_dict(trace: Trace, obj: Any) -> Any:
    """`obj.__dict__`."""


@declared
def instance_set_attribute(trace: Trace, obj: Any, name: str, value: Any) -> None: ...


@declared
def load_cell(trace: Trace, cell: Value) -> Any:
    """What a cell holds, or None if it is empty."""


@declared
def method(trace: Trace, fn: Any, owner: Any) -> Any: ...


@declared
def module_attribute(trace: Trace, module: Any, name: str) -> Any:
    """An attribute of a Python module: its dict, then the module's own __getattr__."""


@declared
def nn_attribute(trace: Trace, obj: Any, name: str) -> Any:
    """What nn.Module.__getattr__ gives."""


@declared
def nn_special(trace: Trace, obj: Any, name: str, value: Any) -> bool:
    """Whether nn.Module.__setattr__ does more than an ordinary store here."""


@declared
def object_attribute(trace: Trace, variable: Any, value: Any, name: str) -> Any:
    """An attribute of a real object that is known by identity (function, C object)."""


@declared
def object_set_attribute(trace: Trace, variable: Any, value: Any, name: str, new: Any) -> None: ...


@declared
def partial_attribute(trace: Trace, obj: Any, name: str) -> Any:
    """`obj.name` for a functools.partial: what was set on it, then what its class has."""


@declared
def set_module_attribute(trace: Trace, module: Any, name: str, value: Any) -> None:
    """`module.name = value`: in its dict, or as a descriptor in the module's class does it."""


@declared
def super_attribute(trace: Trace, sup: Value, name: str) -> Any:
    """`super().name`."""


@declared
def type_lookup(trace: Trace, cls: type, name: str) -> Any:
    """What the class says about `name`, unbound and guarded; MISSING if nothing."""
