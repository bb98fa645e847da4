"""Sets with members whose end the program can tell: no guard keeps those alive."""

from __future__ import annotations

import weakref
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace
from suture.compiler.objects import Set
from suture.compiler.outside.identity import is_told_of_its_end
from suture.runtime.reads import dereferenced, members_in_order
from suture.runtime.sources import Source


def has_told_members(members: Any) -> bool:
    """Whether the program can tell when a member goes, or something that a member holds."""
    return any(map(_is_told, members))


def _is_told(member: Any) -> bool:
    if type(member) is tuple:
        return has_told_members(member)
    return type(member) is weakref.ref or is_told_of_its_end(member)


def add_members(trace: Trace, made: Set, members: Any, source: Source) -> None:
    """Adds to `made` what the set at `source` has, each read by its place in the order."""
    listed = source.call(members_in_order)
    for i, member in enumerate(members):
        _fix(trace, listed.index(i), member)
        made.add(trace, abstract.wrap(trace, member, listed.index(i)))
    trace.outside.ordered.add(id(source))


def _fix(trace: Trace, source: Source, member: Any) -> None:
    """Guards which object a member is, or which ones it is made of."""
    if type(member) is tuple:
        trace.guards.add(source, "type", tuple)
        trace.guards.add(source.call(len), "equals", len(member))
        for i, item in enumerate(member):
            _fix(trace, source.index(i), item)
    elif type(member) is weakref.ref and member() is not None:
        trace.guards.add(source, "type", weakref.ref)
        abstract.fix(trace, source.call(dereferenced), member())
    else:
        abstract.fix(trace, source, member)
