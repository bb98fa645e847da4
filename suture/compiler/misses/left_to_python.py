"""Functions that can meet no tensor are not traced: there is nothing to capture.

The answer for one call is found by reading what the function can get hold of
(`outside/plain_functions.py`), and the point gets an entry under guards, so that calls like this
one are not asked about again. Where the guards cannot say all that the answer depends on, because
that is in classes and objects which may change, the first calls are asked about one by one, and
then the entry holds for a while only: twenty times as long as asking took.
"""

from __future__ import annotations

import time
from typing import Any

from suture import config, events, rules
from suture._core import call_plainly
from suture.bytecode import makes_generator
from suture.compiler.guards.names import point_location
from suture.compiler.outside.plain_functions import MayMeet, guards_of_plain
from suture.runtime import slot_names
from suture.runtime.guards import Guards, finish
from suture.runtime.plain_values import Asked
from suture.runtime.points import PointData
from suture.runtime.unit import LOCK, Unit

_ONE_BY_ONE = 8  # calls of one point that are asked about before an entry holds for a while
_ENTRIES = 8  # of one point: calls that are unlike all those are compiled
_UNREAD_REGIONS = 8  # that are traced of what seems to lead to no tensor, but for what says nothing


def left_to_python(unit: Unit, point: Any, state: tuple[Any, ...]) -> Any:
    """What takes this state where no variant is wanted for it; None: it is to be compiled."""
    data = point.data
    if not _may_be_left(unit, data):
        return None
    began = time.perf_counter()
    try:
        guards, lasting = guards_of_plain(state, slot_names(data.chain))
    except MayMeet as answer:
        if data.chain[0].code is unit.code:
            unit.unread = answer.unread
        return None
    with LOCK:
        data.left += 1
        if lasting:
            _add(point, guards)
        elif data.left > _ONE_BY_ONE:
            _leave_for_a_while(point, state, guards, time.perf_counter() - began)
    if data.left == 1:
        events.emit(events.LeftToPython(point_location(data.chain), point=point.name))
    return call_plainly


def region_limit(unit: Unit) -> int:
    """After how many regions without an operation what gets no tensor is left to Python: few where
    nothing of torch was found in what the function can get hold of."""
    limit = config.empty_region_limit
    if unit.unread and not config.trace_tensor_free:
        return min(limit, _UNREAD_REGIONS)
    return limit


def _leave_for_a_while(point: Any, state: tuple[Any, ...], guards: Guards, took: float) -> None:
    """The entry for calls like this one: that which has expired, or a new one."""
    for asked, program in point.data.left_recently:
        asked.answered(took)
        if program.check(*state):
            return
        asked.expire()
    asked = Asked()
    guards.add(None, "torch_state", (asked, True, asked.__name__))
    program = _add(point, guards)
    asked.answered(took)
    point.data.left_recently.append((asked, program))


def _add(point: Any, guards: Guards) -> Any:
    program = finish(guards)
    point.add(call_plainly, program)
    point.data.left_under += 1
    return program


def _may_be_left(unit: Unit, data: PointData) -> bool:
    """Whether the point is the start of a function that Python may run as a whole, for all that the
    user asked for: not where a break is an error, and not where ranks compile together."""
    if config.trace_tensor_free or data.variants or data.left_under >= _ENTRIES:
        return False
    if unit.forbids_breaks(rules.breaks_are_errors()) or config.agree_across_ranks:
        return False
    first = data.chain[0]
    starts = len(data.chain) == 1 and first.index == 0 and not first.resumed
    return starts and not makes_generator(first.code)
