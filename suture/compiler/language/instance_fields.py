"""What an instance itself holds, in its `__dict__`, with what the region has set and deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import DELETED, Constant, Dict
from suture.compiler.objects.lookup import has_plain_keys
from suture.runtime.sources import Source


def unknown_attribute(obj: Any, name: str) -> Break:
    """Why an attribute is not read while tracing."""
    return Break(objects.UNKNOWN_ATTRIBUTE, object=obj.describe(), attribute=name)


def instance_value(trace: Trace, obj: Any, name: str) -> Value | None:
    """What the instance itself holds under `name`; None if nothing."""
    return _held(trace, obj, name, abstract.wrap)


def instance_holds(trace: Trace, obj: Any, name: str) -> bool:
    """Whether the instance itself holds something under `name`: not what it is."""
    return _held(trace, obj, name, _only_there) is not None


def _only_there(trace: Trace, value: object, source: Source) -> Value:
    trace.guards.add(source, "exists")
    return Constant(True)


def _held(
    trace: Trace, obj: Any, name: str, read: Callable[[Trace, object, Source], Value]
) -> Value | None:
    """What `read` gives for what the real instance holds under `name`."""
    held = obj.attrs.get(name)
    if held is not None:
        return None if held is DELETED else abstract.realize(trace, held)
    value = getattr(obj, "value", None)
    if value is None:
        return None
    try:
        table = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    known = trace.outside.known.get(id(table))
    if known is not None and isinstance(known[1], Dict) and known[1].changed:
        return known[1].get(trace, Constant(name))  # the program holds the dict itself too
    if not has_plain_keys(table):  # a lookup may run the `__eq__` of a key
        raise unknown_attribute(obj, name)
    source = obj.source.instance_dict()
    if name in table:
        return read(trace, table[name], source.item(name))
    trace.guards.add(source, "no_key", name)
    return None
