"""From what was emitted to a variant of its point."""

from __future__ import annotations

from typing import Any

from suture.compiler.capture import Capture
from suture.compiler.misses.history import history_of
from suture.runtime.chain import slot_names
from suture.runtime.fallbacks import watch
from suture.runtime.points import PointData, Variant
from suture.runtime.sources import slot
from suture.runtime.unexpected import Expected, expect
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
        checks = [expectation(check) for check in capture.checks]
        expect(emitted.checks, checks, unit, point, variant, drop)
    for reached, symbols in emitted.reached:
        if symbols:
            _tell(unit, reached.data, symbols)
    if emitted.watch is not None:
        watch(emitted.watch, unit, point, variant, drop)
    return variant


def _tell(unit: Unit, data: PointData, symbols: dict[int, Any]) -> None:
    """What is a symbol where a region ends changes at the point where the next one begins."""
    names, history = slot_names(data.chain), history_of(unit, data)
    for at, sizes in symbols.items():
        history.receives(slot(at, names[at]).path(), sizes)


def expectation(check: Any) -> Expected:
    """What the runtime needs to know of a check."""
    why = check.from_module_state, check.learned, check.skips
    return Expected(check.position, check.expected, *why)
