"""From what was emitted to a variant of its point."""

from __future__ import annotations

from typing import Any

from suture.compiler.capture import Capture
from suture.compiler.misses.history import history_of
from suture.compiler.misses.unexpected import forget_after, watch, without_expecting
from suture.runtime.points import PointData, Variant
from suture.runtime.unit import Unit, drop


def install(unit: Unit, point: Any, capture: Capture, emitted: Any, program: Any) -> Variant:
    """Add the variant to its point, and count whether it was worth it."""
    variant = Variant(
        emitted.function,
        emitted.source,
        capture.guards,
        program,
        emitted.module,
        len(point.data.variants),
        type(capture.exit).__name__,
        capture.graph.ops,
        emitted.parameters,
        caller=emitted.caller,
        general=capture.general,
    )
    if capture.graph.ops:
        unit.fruitless = -1
    elif unit.fruitless >= 0:
        unit.fruitless += 1
    unit.add(point, variant)
    if emitted.checks is not None:
        variant.own = True
        if not unit.options.fullgraph:  # a break instead would be an error
            known = (capture.checks, point, variant, drop, unit.branches)
            emitted.checks.tell = forget_after(*known)
            emitted.checks.other = without_expecting(*known)
    if emitted.watch is not None and _may_expect(unit, point.data, emitted.watch.position):
        watch(emitted.watch, point, variant, drop, unit.branches)
    return variant


def _may_expect(unit: Unit, data: PointData, position: Any) -> bool:
    """Whether a branch that a variant ends with may be expected to go one way later."""
    if unit.options.fullgraph or position in history_of(unit, data).plan().unexpected:
        return False
    return position not in unit.branches.expected()
