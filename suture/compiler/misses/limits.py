"""How much is compiled: variants of a point, instructions of a region, frames that are worth it."""

from __future__ import annotations

import math
from typing import Any

from suture import _core, config, errors, events, switches
from suture.breaks import Break, internal
from suture.bytecode import decode
from suture.compiler.capture import Capture, Return, Run, Yield
from suture.compiler.guards.names import point_location
from suture.compiler.guards.reasons import most_frequent
from suture.compiler.misses.reasons import explain_miss
from suture.compiler.outside.tensor_free import state_is_tensor_free
from suture.runtime import torch_state
from suture.runtime.points import PointData
from suture.runtime.unit import Unit

_MOST_BODIES = 48
_LEAST_TRACED = 2_000


def worth_compiling(unit: Unit, data: PointData, capture: Capture, state: tuple[Any, ...]) -> bool:
    """False for an implicit function, or a generator that is resumed in a loop and
    yields there, which got no tensor and did nothing with one, and for an implicit one that
    broke and can meet none: it runs plainly from now on."""
    spec = data.chain[-1]
    resumed = spec.resumed and decode(spec.code).in_loop(spec.index)
    if not (data.implicit or resumed):
        return True
    code = spec.code
    if isinstance(capture.exit, Run) and not resumed:
        plain = state_is_tensor_free(state)
    else:
        ends = isinstance(capture.exit, (Return, Yield) if resumed else Return)
        plain = ends and not capture.graph.ops and not any(map(torch_state.holds_tensors, state))
    if not plain:
        return True
    if resumed and any(v.ops for p in unit.points_in(code) for v in p.data.variants):
        return True
    unit.plain[id(code)] = code
    data.never_compiles = True
    _core.forget(code)
    return False


def trace_allowance(unit: Unit, plain: bool) -> float:
    """How many instructions a region may take before it must show operations: each that took
    too many leaves less to those that follow. `plain`: it can meet no tensor."""
    if unit.options.fullgraph:
        return math.inf
    left = max(config.trace_limit >> 2 * min(unit.overworked, 10), _LEAST_TRACED)
    return min(left, config.tensor_free_limit) if plain else left


def body_allowance(unit: Unit) -> float:
    """How many more bodies that the program may skip can go into the graphs of a function: each
    takes a backend as long as if it were not skipped, and a model may have hundreds of experts."""
    if unit.options.fullgraph or not unit.options.backend.takes_long():
        return math.inf
    return _MOST_BODIES - unit.optional_bodies


def over_limit(unit: Unit, point: Any, data: PointData, state: tuple[Any, ...]) -> bool:
    """Note why the variants did not fit; True if there may be no more of them."""
    count = len(data.variants)
    if not count:
        return False
    reasons = tuple(explain_miss(data, v, state) for v in reversed(data.variants))
    data.reasons.append(reasons[0])
    location = point_location(data.chain, type(state[1]) if len(state) > 1 else None)
    function = location.function
    if config.error_on_recompile:
        head = (
            f"{function} ({location.file}:{location.line}) would compile again, which "
            "error_on_recompile forbids"
        )
        raise errors.RecompileError("\n".join([head, *(f"  {one}" for one in reasons)]))
    if (
        count < unit.options.limit()
        and _accumulated(unit, data) < config.accumulated_recompile_limit
    ):
        said = switches.recompile_contexts()
        events.emit(events.Recompiled(location, reasons, count, said, point=point.name))
        return False
    guard = most_frequent(data.reasons)
    reason = Break(internal.RECOMPILE_LIMIT, function=function, count=str(count), guard=guard)
    text = "\n".join([reason.told(), *(f"  hint: {hint}" for hint in reason.hints())])
    if unit.options.fullgraph or config.fail_on_recompile_limit:
        raise errors.RecompileLimitExceeded(text)
    data.full_at = count
    events.emit(events.Interpreted(location, text, reason.number, point=point.name))
    return True


def _accumulated(unit: Unit, data: PointData) -> int:
    """How many variants all points in the same code have together."""
    code = data.chain[0].code
    return sum(
        len(p.data.variants) for p in list(unit.points.values()) if p.data.chain[0].code is code
    )
