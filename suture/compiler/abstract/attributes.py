"""Attributes of any object."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def bind(
    trace: Trace, raw: Any, obj: object, cls: type, name: str, owner_class: Value | None = None
) -> Value:
    """`raw`, found in a class, as seen through an instance (or through the class itself)."""


@declared
def changed_owner(trace: Trace, table: dict[str, Any]) -> Value | None:
    """The object with attributes set in the region whose dict this is, if there is one."""


@declared
def container_attribute(trace: Trace, obj: Value, name: str) -> Value:
    """An attribute of an iterator, a view, a generator."""


@declared
def getattr(trace: Trace, obj: object, name: str) -> Value:
    """The attribute, with whatever code that takes run to its end."""


@declared
def instance_dict(trace: Trace, obj: Value) -> Value:
    """`obj.__dict__`."""


@declared
def method(trace: Trace, fn: Value, owner: Value) -> Value:
    """The bound method of `owner` whose function is `fn`."""


@declared
def nn_attribute(trace: Trace, obj: object, name: str) -> Value:
    """What nn.Module.__getattr__ gives."""


@declared
def type_lookup(trace: Trace, cls: type, name: str) -> Any:
    """What the class says about `name`, unbound and guarded; MISSING if nothing."""
