"""Texts and truths from outside whose values nobody takes.

The name of a file in a batch, a flag that is passed to where it is not needed: what only asks for
the type of such a literal, or hands it on, goes for all of that type.
"""

from __future__ import annotations

import functools

from suture.compiler.core import Trace
from suture.compiler.objects import OfType
from suture.runtime.sources import Source

# Of these types. A number is a symbol once it has changed.
OF_TYPE = (str, bytes, bool)


def of_type(trace: Trace, value: object, source: Source) -> OfType:
    """The value of a literal of one of these types, which is guarded when it is taken."""
    made = OfType(value, source, functools.partial(trace.guards.add, source, "equals", value))
    trace.outside.unread.append(made)
    return made


def guard_unread(trace: Trace) -> None:
    """The region has ended: literals whose values nobody has taken are of their types."""
    for value in trace.outside.unread:
        if not value.is_read():
            trace.guards.add(value.source, "type", value.python_type())
