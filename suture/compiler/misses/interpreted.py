"""A miss that ends in the interpreter: the event that says so, and the break that is its reason."""

from __future__ import annotations

from suture import _core, events
from suture.breaks import Break
from suture.compiler.guards.names import point_location


def report(point: _core.Point, reason: Break) -> events.Where:
    """Emit `events.Interpreted` for a point; returns where the point is."""
    location = point_location(point.data.chain)
    events.emit(events.Interpreted(location, str(reason), reason.number, point=point.name))
    return location


def interpret_from_now_on(point: _core.Point, reason: Break) -> events.Where:
    """The same, where no call compiles at this point any more."""
    point.data.never_compiles = True
    return report(point, reason)
