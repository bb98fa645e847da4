"""Graphs that run as they were captured: the backend could do wrong, or would gain nothing."""

from __future__ import annotations

from typing import Any

from suture import config, events
from suture.compiler.capture import Capture
from suture.compiler.graph.hooked import hooks_one_of_several
from suture.compiler.graph.shared_memory import writes_part_of_shared
from suture.compiler.plan import Plan
from suture.runtime.points import PointData
from suture.runtime.unit import Unit

_SMALL = 24  # operations of a graph


def runs_as_it_is(
    unit: Unit, point: Any, plan: Plan, capture: Capture, module: Any, small: bool
) -> bool:
    """Whether a graph is left as it is instead of being compiled. `small`: it is one of
    `is_small_and_behind_a_break`. That it would gain nothing is told by an event."""
    if plan.uncompiled or writes_part_of_shared(capture.graph):
        return True
    if hooks_one_of_several(getattr(capture.exit, "reason", None), module):
        return True
    in_vain = _in_vain(unit, capture, small)
    if in_vain:
        events.emit(events.RunPlainly(capture.graph.ops, in_vain, point=point.name))
    return bool(in_vain)


def _in_vain(unit: Unit, capture: Capture, small: bool) -> str:
    """Why compiling the graph is likely to take longer than it gives back; "" if it is not."""
    if capture.first_step and unit.options.backend.takes_long():
        return "the first step of an optimizer makes its state, and runs once"
    seconds = unit.small_graph_time
    if small and seconds > config.small_graph_seconds:
        return (
            f"small graphs of this function took {seconds:.1f} s to compile (small_graph_seconds)"
        )
    return ""


def is_small_and_behind_a_break(unit: Unit, data: PointData, capture: Capture) -> bool:
    """Whether such graphs may come again and again: one for each expert in a loop over experts,
    say. A point at the start of a function has a limit of its own."""
    entry = data.chain[0].index == 0 and len(data.chain) == 1
    return not entry and capture.graph.ops <= _SMALL and not unit.options.fullgraph
