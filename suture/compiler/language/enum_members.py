"""Attributes of the members of enums. A member is a constant, but what hangs on it is not: the
program may set attributes of it later, and its properties run the program's code."""

from __future__ import annotations

import enum
import types
from typing import Any

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import bind_descriptor, type_lookup
from suture.compiler.objects import Constant, constant
from suture.compiler.objects.descriptor import is_property
from suture.compiler.objects.lookup import (
    MISSING,
    find_in_mro,
    has_plain_keys,
    is_data_descriptor,
)
from suture.runtime.predicates import LITERALS

# The properties of `enum.Enum`, and the entries of a member's dict that they read.
_OF_ENUM = {name: vars(enum.Enum)[name] for name in ("name", "value")}


@implements(constant.member_attribute)
def attribute_of_member(trace: Trace, member: Constant, name: str) -> Value | None:
    """The attribute, with guards on what was read; None for one that belongs to the class of the
    member as a constant, such as a method of its number or text."""
    real = member.value
    cls = type(real)
    raw = type_lookup(trace, cls, name)
    if raw is _OF_ENUM.get(name):
        return _held(trace, member, f"_{name}_")
    if is_property(raw) or isinstance(raw, types.DynamicClassAttribute):
        if isinstance(raw.fget, types.FunctionType):
            return abstract.tail_call(trace, abstract.wrap(trace, raw.fget, None), [member], {})
        return None
    bound = isinstance(find_in_mro(type(raw), "__get__"), types.FunctionType)
    if bound and is_data_descriptor(raw):
        return bind_descriptor(trace, raw, member, cls, name)
    held = _held(trace, member, name)
    if held is not None:
        return held
    if raw is not MISSING:
        return bind_descriptor(trace, raw, member, cls, name) if bound else None
    if isinstance(type_lookup(trace, cls, "__getattr__"), types.FunctionType):
        return abstract.call_type_method(trace, member, "__getattr__", [Constant(name)], {})
    return None


def _held(trace: Trace, member: Constant, name: str) -> Value | None:
    """What the member itself holds under `name`; None if nothing."""
    table: dict[str, Any] = vars(member.value)
    if not has_plain_keys(table):
        return None
    source = member.source if member.source is not None else abstract.pinned(trace, member.value)
    if name not in table:
        trace.guards.add(source.instance_dict(), "no_key", name)
        return None
    found, at = table[name], source.instance_dict().item(name)
    if type(found) in LITERALS:  # no symbol: the program says it once, in the class
        trace.guards.add(at, "equals", found)
        return Constant(found)
    return abstract.wrap(trace, found, at)
