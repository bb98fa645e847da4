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
def changed_owner(trace: Trace, table: dict[str, Any]) -> Value | None:
    """The object with attributes set in the region whose dict this is, if there is one."""


@declared
def container_attribute(trace: Trace, obj: Value, name: str) -> Any:
    """An attribute of an iterator, a view, a generator."""


@declared
def getattr(trace: Trace, obj: object, name: str) -> Any:
    """The attribute, with whatever code that takes run to its end."""


@declared
def instance_dict(trace: Trace, obj: Value) -> Any:
    """`obj.__dict__`."""


@declared
def load_cell(trace: Trace, cell: Value) -> Any:
    """What a cell holds, or None if it is empty."""


@declared
def method(trace: Trace, fn: Callable[..., Any], owner: Value) -> Value:
    """The bound method of `owner` whose function is `fn`."""


@declared
def nn_attribute(trace: Trace, obj: object, name: str) -> Value:
    """What nn.Module.__getattr__ gives."""


@declared
def object_attribute(trace: Trace, variable: object, value: object, name: str) -> Value:
    """An attribute of a real object that is known by identity (function, C object)."""


@declared
def object_set_attribute(
    trace: Trace, variable: Value, value: object, name: str, new: Value
) -> None:
    """Set an attribute of a real object that is known by identity: Break, since others see it."""


@declared
def partial_attribute(trace: Trace, obj: Value, name: str) -> Value:
    """`obj.name` for a functools.partial: what was set on it, then what its class has."""


@declared
def type_lookup(trace: Trace, cls: type, name: str) -> Any:
    """What the class says about `name`, unbound and guarded; MISSING if nothing."""
