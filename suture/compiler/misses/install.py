"""From what was emitted to a variant of its point."""

from __future__ import annotations

from typing import Any

from suture.compiler.capture import Capture
from suture.compiler.misses.unexpected import forget_after, without_expecting
from suture.runtime.fallbacks import watch
from suture.runtime.points import Variant
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
        unit.empty_regions = -1
    elif unit.empty_regions >= 0:
        unit.empty_regions += 1
    unit.add(point, variant)
    if emitted.checks is not None:
        variant.own = True
        if not unit.options.fullgraph:  # a break instead would be an error
            known = (capture.checks, point, variant, drop, unit.branches)
            emitted.checks.tell = forget_after(*known)
            emitted.checks.other = without_expecting(*known)
    if emitted.watch is not None:
        watch(emitted.watch, unit, point, variant, drop)
    return variant
