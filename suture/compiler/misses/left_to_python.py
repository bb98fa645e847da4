"""Functions that can meet no tensor are not traced: there is nothing to capture.

The answer for one call is found by reading what the function can get hold of
(`outside/plain_functions.py`). Where guards can say what it depends on, the point gets an entry
under them, and calls like this one are not asked about again. Where they cannot, because it
depends on what some object holds, the first calls are left to Python and later ones are compiled:
asking for ever could take longer than what it saves.
"""

from __future__ import annotations

from typing import Any

from suture import config, events, rules
from suture._core import call_plainly
from suture.bytecode import makes_generator
from suture.compiler.guards.names import point_location
from suture.compiler.outside.plain_functions import MayMeet, guards_of_plain
from suture.runtime import slot_names
from suture.runtime.guards import finish
from suture.runtime.points import PointData
from suture.runtime.unit import LOCK, Unit

_MOST_CALLS = 8  # of one point that are asked about: one trace takes longer than so many


def left_to_python(unit: Unit, point: Any, state: tuple[Any, ...]) -> Any:
    """What takes this state where no variant is wanted for it; None: it is to be compiled."""
    data = point.data
    if not _may_be_left(unit, data):
        return None
    try:
        guards = guards_of_plain(state, slot_names(data.chain))
    except MayMeet:
        return None
    with LOCK:
        data.left += 1
        if guards is not None:
            point.add(call_plainly, finish(guards))
            data.left_under += 1
    if data.left == 1:
        events.emit(events.LeftToPython(point_location(data.chain), point=point.name))
    return call_plainly


def _may_be_left(unit: Unit, data: PointData) -> bool:
    """Whether the point is the start of a function that Python may run as a whole, for all that the
    user asked for: not where a break is an error, and not where ranks compile together."""
    if config.trace_tensor_free or data.variants or data.left >= _MOST_CALLS:
        return False
    if unit.forbids_breaks(rules.breaks_are_errors()) or config.agree_across_ranks:
        return False
    first = data.chain[0]
    starts = len(data.chain) == 1 and first.index == 0 and not first.resumed
    return starts and not makes_generator(first.code)
