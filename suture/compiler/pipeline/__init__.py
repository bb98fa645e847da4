"""The map: from a state at a point to an installed variant."""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import replace
from typing import Any

from suture import _core, config, errors, events, messages
from suture.bytecode import Instruction
from suture.compiler import rooms
from suture.compiler.capture import Capture, Exit, Run, Yield
from suture.compiler.emit import Emitted, emit, variant_name
from suture.compiler.graph import GraphBuilder
from suture.compiler.graph.fake_failures import unlogged_failures
from suture.compiler.guards import shapes
from suture.compiler.interpreter.limits import computes_tensors, is_overworked
from suture.compiler.interpreter.run import new_trace
from suture.compiler.language.generators import yield_of
from suture.compiler.misses import answer as misses
from suture.compiler.misses import cache_writes, compare_eager, limits
from suture.compiler.misses import install as installing
from suture.compiler.misses.answer import report_mode
from suture.compiler.misses.faults import missing, out_of_room, run_around_faults
from suture.compiler.misses.first_calls import make_first_calls
from suture.compiler.misses.history import history_of
from suture.compiler.misses.long_python import meets_no_tensor
from suture.compiler.misses.reasons import explain_miss
from suture.compiler.objects import MadeByPython
from suture.compiler.outside.namespaces import looks_at_locals
from suture.compiler.pipeline.graphs import install_graph
from suture.compiler.pipeline.miss import (
    Miss,
    handler_fault,
    internal_fault,
    left_to_python,
    needs_real_frame,
    retry_limit_reached,
)
from suture.compiler.plan import Plan, Retry
from suture.runtime import torch_state
from suture.runtime.guards import finish
from suture.runtime.points import PointData, Variant
from suture.runtime.uncompiled import INTERPRET, THIS_CALL_PLAINLY, Uncompiled
from suture.runtime.unit import Unit
from suture.switches import guard_filter
from suture.torch_private import MissingName
from suture.torch_private.torchdynamo import hide

rooms.load()


def answer(unit: Unit, point: Any, state: tuple[Any, ...]) -> Any:
    """What takes a state for which the point has no variant."""
    return misses.answer(unit, point, state, compile_point)


def compile_point(unit: Unit, point: _core.Point, state: tuple[Any, ...]) -> Variant | Uncompiled:
    """Trace, guard, emit, compile and install a variant for this state."""
    try:
        with (
            torch_state.without_saved_tensor_hooks(),
            torch_state.without_function_modes() as modes,
        ):
            make_first_calls()
            return settle(Miss(unit, point, state, modes))
    except (errors.SutureError, KeyboardInterrupt, SystemExit):
        raise
    except RecursionError as error:
        out_of_room(point, error)  # the program will come to the end of the stack by itself
        return INTERPRET
    except MissingName as error:
        missing(point, error)
        return INTERPRET
    except Exception as error:
        return internal_fault(point, state, error)


def settle(miss: Miss) -> Variant | Uncompiled:
    """Try until a plan holds: each try that fails gives the next plan."""
    if looks_at_locals(miss.state[0]) and not miss.unit.options.fullgraph:
        return needs_real_frame(miss)
    history = history_of(miss.unit, miss.data)
    plan = history.plan().having(expected=miss.unit.expected())
    tries = 0
    while True:
        try:
            result = attempt(miss, plan)
        finally:
            miss.release()
        if not isinstance(result, Retry):
            return result
        tries += 1
        messages.retried(miss.point, result.reason, tries)
        plan = result.plan
        history.keep(plan)
        if tries > config.retry_limit:
            return retry_limit_reached(miss, result.reason, tries)


def attempt(miss: Miss, plan: Plan) -> Variant | Uncompiled | Retry:
    """One try, from the trace to the installed variant."""
    with events.phase("trace", miss.point.name):
        capture = trace(miss, plan)
    if miss.in_vain:
        return left_to_python(miss)
    if isinstance(capture, Retry):
        return capture
    result = finish_capture(miss, plan, capture)
    capture.drop_tracebacks()
    return result


def finish_capture(miss: Miss, plan: Plan, capture: Capture) -> Variant | Uncompiled | Retry:
    """From what was captured to the installed variant."""
    unit, data, name = miss.unit, miss.data, miss.point.name
    if unit.options.fullgraph and capture.initializes:
        return THIS_CALL_PLAINLY
    unreported = miss.reported is not plan.without_data
    if unreported and not limits.worth_compiling(unit, data, capture, miss.state):
        return INTERPRET
    try:
        with events.phase("emit", name):
            emitted = emit(capture, data.chain, variant_name(data.chain), unit.point)
    except MadeByPython as wanted:
        reason = f"{wanted.what} leaves the region: Python makes it"
        return Retry(plan.leaving(frozenset({wanted.position})), reason)
    except RecursionError:  # too deep to be written down: the break is reported all the same
        report_break(miss, capture)
        raise
    if unreported:
        miss.reported = plan.without_data
        messages.traced(miss.point, capture, miss.watch)
        report_break(miss, capture)
        report_yields(miss, capture, emitted.yields)
    torch_state.guard(capture.guards, miss.modes)
    with events.phase("backend", name):
        refused = install_graph(miss, plan, capture, emitted)
    if refused is not None:
        return refused
    assert miss.trace is not None
    unit.optional_bodies += miss.trace.progress.bodies
    return install(miss, capture, emitted)


def trace(miss: Miss, plan: Plan) -> Capture | Retry:
    """Run the region symbolically, once."""
    unit = miss.unit
    whole = unit.options.fullgraph
    asked = torch_state.asked(miss.modes)
    plain = not whole and meets_no_tensor(miss.data.chain, miss.state)
    allowance = limits.trace_allowance(unit, plain) if plan.stop is None else math.inf
    traced = new_trace(
        miss.data.chain,
        miss.state,
        history_of(unit, miss.data),
        plan,
        asked,
        whole=whole,
        allowance=allowance,
    )
    traced.region.plain = plain
    miss.trace, miss.watch = traced, messages.watcher()
    traced.progress.watch = miss.watch
    traced.progress.most_bodies = limits.body_allowance(unit)
    events.now.detail = functools.partial(_operations, traced.graph)
    with unlogged_failures():
        result = run_around_faults(traced, functools.partial(handler_fault, miss))
    miss.in_vain = plain and is_overworked(traced) and not computes_tensors(traced)
    if not isinstance(result, Retry) or result.plan.stop is not None:
        unit.overworked += is_overworked(traced)
    return result


def _operations(graph: GraphBuilder) -> str:
    return f"{graph.ops} operations so far"


def install(miss: Miss, capture: Capture, emitted: Emitted) -> Variant:
    """Finish the guards and add the variant to its point."""
    name = miss.point.name
    with events.phase("guard", name):
        shapes.check_marks(capture.graph.shape_env, capture.number_sources)
        shapes.add(capture.guards, capture.graph, capture.number_sources)
        capture.graph.decisions.where = _nowhere
        choose = miss.unit.options.backend.guard_filter_fn
        if choose is not None:
            capture.guards.entries = guard_filter.kept(choose, capture.guards.entries, miss.state)
        program = finish(capture.guards)
        capture.guards.anew.clear()  # the variant keeps none of them alive
    if config.verify and compare_eager.can_run_twice(miss.data, capture, emitted.parameters):
        emitted.function = compare_eager.ComparedVariant(emitted, name, config.strict)
    stored = cache_writes.described(miss.unit, miss.point, miss.state, capture, emitted)
    variant = installing.install(miss.unit, miss.point, capture, emitted, program)
    cache_writes.write(stored, emitted.caller)
    messages.installed(miss.point, variant, miss.state)
    return variant


def report_break(miss: Miss, capture: Capture) -> None:
    """Report the break that the region ends with, if any; raises where breaks are errors."""
    reason = capture.reason
    if reason is not None and not _is_next_iteration(miss.data, capture.exit):
        messages.broke(miss.unit, miss.point, capture, reason)


def report_yields(miss: Miss, capture: Capture, yields: list[Instruction]) -> None:
    """Report the yields that the generator's frame comes to by itself after the region: each of
    them once, however many regions lead to it."""
    frame = copy.copy(capture.frames[0])
    for inst in yields:
        position = (frame.code.code, inst.index)
        if position not in miss.unit.yields:
            miss.unit.yields.add(position)
            frame.ip = inst.index
            reason = yield_of(frame)
            ended = replace(capture, frames=[frame], exit=Yield(inst, reason))
            messages.broke(miss.unit, miss.point, ended, reason)


def _is_next_iteration(data: PointData, exit: Exit) -> bool:
    """The next iteration of a loop that broke before: part of that break, not one of its own."""
    started_elsewhere = data.chain[0].index > 0
    return started_elsewhere and isinstance(exit, Run) and exit.operation == "next"


def _nowhere() -> None:
    """Stands in for the tracer once it is done, in what outlives it."""


hide(answer.__code__)
__all__ = ["answer", "compile_point", "explain_miss", "history_of", "report_mode"]
