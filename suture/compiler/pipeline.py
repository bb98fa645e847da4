"""The map: from a state at a point to an installed variant, one call per line."""

from __future__ import annotations

import functools
import keyword
import logging
import math
import time
from dataclasses import dataclass
from typing import Any

from suture import _core, backends, config, errors, events, messages, repro
from suture.backends.interrupts import outside_imports
from suture.breaks import Break, internal, python
from suture.compiler import rooms
from suture.compiler.capture import Again, Capture, Interpret, Run, Yield
from suture.compiler.core import Trace
from suture.compiler.emit import emit
from suture.compiler.graph import (
    copied,
    guard_beginnings,
    is_scalar,
    keeps_address,
    put_asserts,
    sizes_from_zero,
)
from suture.compiler.graph.fake_failures import unlogged_failures
from suture.compiler.graph.hooked import hooks_one_of_several
from suture.compiler.graph.shared_memory import guard_own_memory, writes_part_of_shared
from suture.compiler.graph.talking import written_in_parts
from suture.compiler.interpreter.run import is_overworked, new_trace
from suture.compiler.misses import answer as misses
from suture.compiler.misses import compare_eager, keep, limits
from suture.compiler.misses import install as installing
from suture.compiler.misses.answer import tell_watched
from suture.compiler.misses.faults import missing, out_of_room, run_around_faults
from suture.compiler.misses.history import history_of
from suture.compiler.misses.interpreted import interpret_from_now_on, report
from suture.compiler.misses.later import compiled_later, may_wait
from suture.compiler.misses.layers import may_take_views_outside, with_shared_layers
from suture.compiler.misses.plain import meets_no_tensor, note_in_vain
from suture.compiler.misses.reasons import explain_miss
from suture.compiler.objects import MadeByPython
from suture.compiler.outside.namespaces import looks_at_locals
from suture.compiler.plan import Plan, Retry
from suture.runtime import Chain, slot_names, torch_state, where
from suture.runtime.guards import finish
from suture.runtime.points import PointData, Variant
from suture.runtime.uncompiled import INTERPRET, THIS_CALL_PLAINLY, Uncompiled
from suture.runtime.unit import Unit
from suture.switches import guard_filter
from suture.torch_private import MissingName
from suture.torch_private.torchdynamo import hide

rooms.load()
_log = logging.getLogger("suture.compiler.pipeline")
_SMALL = 24  # operations of a graph


@dataclass(slots=True)
class Miss:
    """A state for which a point has no variant, while it is being compiled. `modes` are those of
    torch functions that were active. `reported`: the break of the region was reported, under a plan
    that is `without_data` or not; None: it was not yet."""

    unit: Unit
    point: Any
    data: PointData
    state: tuple[Any, ...]
    modes: list[Any]
    reported: bool | None = None
    watch: Any = None  # a `messages.watch.Watch` of the trace, if there is one
    trace: Trace | None = None  # of the try that goes on
    in_vain: bool = False  # long, without an operation, where no tensor can be met

    def release(self) -> None:
        """The trace is not needed any more: what it knows of the program goes at once."""
        if self.trace is not None:
            self.trace.release()
            self.trace = None


def answer(unit: Unit, point: Any, state: tuple[Any, ...]) -> Any:
    """What takes a state for which the point has no variant."""
    return misses.answer(unit, point, state, compile_point)


def compile_point(
    unit: Unit, point: Any, data: PointData, state: tuple[Any, ...]
) -> Variant | Uncompiled:
    """Trace, guard, emit, compile and install a variant for this state."""
    try:
        with (
            outside_imports(),
            torch_state.without_saved_tensor_hooks(),
            torch_state.without_function_modes() as modes,
        ):
            return settle(Miss(unit, point, data, state, modes))
    except (errors.SutureError, KeyboardInterrupt, SystemExit):
        raise
    except RecursionError as error:
        out_of_room(point, error)  # the program will come to the end of the stack by itself
        return INTERPRET
    except MissingName as error:
        missing(point, error)
        return INTERPRET
    except Exception as error:
        _fault(point, error)
        _write_repro(data, state, error)
        return INTERPRET


def settle(miss: Miss) -> Variant | Uncompiled:
    """Try until a plan holds: each try that fails gives the next plan."""
    if looks_at_locals(miss.state[0]) and not miss.unit.options.fullgraph:
        return _runs_in_a_frame(miss)
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
        messages.retried(miss.point, miss.data, result.reason, tries)
        plan = result.plan
        history.keep(plan)
        if tries > config.retry_limit:
            return _unsettled(miss, result.reason, tries)


def attempt(miss: Miss, plan: Plan) -> Variant | Uncompiled | Retry:
    """One try, from the trace to the installed variant."""
    with events.phase("trace", miss.point.name):
        capture = trace(miss, plan)
    if miss.in_vain:
        return _left_to_python(miss)
    if isinstance(capture, Retry):
        return capture
    result = finish_capture(miss, plan, capture)
    capture.drop_tracebacks()
    return result


def finish_capture(miss: Miss, plan: Plan, capture: Capture) -> Variant | Uncompiled | Retry:
    """From what was captured to the installed variant."""
    unit, point, data = miss.unit, miss.point, miss.data
    name = point.name
    if unit.options.fullgraph and capture.initializes:
        return THIS_CALL_PLAINLY
    unreported = miss.reported is not plan.without_data
    if unreported and not limits.worth_compiling(unit, data, capture, miss.state):
        return INTERPRET
    try:
        with events.phase("emit", name):
            emitted = emit(capture, data.chain, name_of(data.chain), unit.point)
    except MadeByPython as wanted:
        reason = f"{wanted.what} leaves the region: Python makes it"
        return Retry(plan.leaving(frozenset({wanted.position})), reason)
    except RecursionError:  # too deep to be written down: the break is reported all the same
        tell(unit, point, data, capture)
        raise
    if unreported:
        miss.reported = plan.without_data
        messages.traced(point, data, capture, miss.watch)
        tell(unit, point, data, capture)
    torch_state.guard(capture.guards, miss.modes)
    with events.phase("backend", name):
        refused = install_graph(miss, plan, capture, emitted)
    return refused or install(miss, capture, emitted)


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
    miss.trace, miss.watch = traced, messages.watcher()
    traced.progress.watch = miss.watch
    events.now.detail = functools.partial(_operations, traced.graph)
    with unlogged_failures():
        result = run_around_faults(traced, functools.partial(_tell_fault, miss))
    miss.in_vain = plain and is_overworked(traced) and not traced.graph.ops
    if not isinstance(result, Retry) or result.plan.stop is not None:
        unit.overworked += is_overworked(traced)
    return result


def _operations(graph: Any) -> str:
    return f"{graph.ops} operations so far"


def install(miss: Miss, capture: Capture, emitted: Any) -> Variant:
    """Finish the guards and add the variant to its point."""
    name = miss.point.name
    with events.phase("guard", name):
        from suture.compiler.guards import shapes

        shapes.check_marks(capture.graph.shape_env, capture.number_sources)
        shapes.add(capture.guards, capture.graph, capture.number_sources)
        capture.graph.decisions.where = _nowhere
        choose = miss.unit.options.backend.guard_filter_fn
        if choose is not None:
            capture.guards.entries = guard_filter.kept(choose, capture.guards.entries, miss.state)
        program = finish(capture.guards)
    if config.verify and compare_eager.can_run_twice(miss.data, capture, emitted.parameters):
        emitted.function = compare_eager.ComparedVariant(emitted, name, config.strict)
    stored = keep.described(miss.unit, miss.point, miss.state, capture, emitted)
    variant = installing.install(miss.unit, miss.point, capture, emitted, program)
    keep.write(stored, emitted.caller)
    messages.installed(miss.point, miss.data, variant, miss.state)
    return variant


def tell(unit: Unit, point: Any, data: PointData, capture: Capture) -> None:
    """Tell of a break; raise if there may be none."""
    exit = capture.exit
    reason = exit.reason if isinstance(exit, (Run, Interpret, Yield, Again)) else None
    if reason is None or _is_next_turn(data, exit):
        return
    messages.broke(unit, point, capture, reason)


def _is_next_turn(data: PointData, exit: Any) -> bool:
    """The next turn of a loop that broke before: part of that break, not one of its own."""
    started_elsewhere = data.chain[0].index > 0
    return started_elsewhere and isinstance(exit, Run) and exit.operation == "next"


def name_of(chain: Chain) -> str:
    """A readable name for the variant: the function's, with the line if it starts elsewhere."""
    name, _, line = where(chain)
    plain = (
        "".join(c if c.isalnum() else "_" for c in name.rpartition(".")[2]).strip("_") or "region"
    )
    if not plain.isidentifier() or keyword.iskeyword(plain):
        plain = f"region_{plain}"
    return plain if chain[0].index == 0 and len(chain) == 1 else f"{plain}_at_{line}"


def install_graph(miss: Miss, plan: Plan, capture: Capture, emitted: Any) -> Retry | None:
    """Hand the graph to the backend. Gives the next plan if the backend could not take some
    number as a symbol."""
    unit, point, module = miss.unit, miss.point, emitted.module
    if module is None:
        return None
    put_asserts(module, capture.graph.shape_env)
    if is_scalar(module):
        emitted.set_graph(module.forward)
        emitted.graph_kept = True
        return None
    if plan.floats_as_data:
        capture.graph.floats_as_data()
    static = [i for i, entry in enumerate(emitted.inputs) if keeps_address(entry)]
    if unit.options.backend.optimizes():
        guard_beginnings(capture.guards, emitted.inputs)
    small = _is_small_and_behind_a_break(miss, capture)
    as_it_is = plan.uncompiled or (small and _over_small_graph_time(miss, capture))
    as_it_is = as_it_is or writes_part_of_shared(capture.graph)
    reason = getattr(capture.exit, "reason", None)
    as_it_is = as_it_is or hooks_one_of_several(reason, module)
    if not as_it_is and unit.options.backend.optimizes():
        guard_own_memory(capture.guards, capture.graph)
    given = module
    cut = backends.has_barrier(module.graph)
    if not (as_it_is or plan.inlined or cut):
        given = with_shared_layers(unit.options.backend, capture.graph, module, point.name)
    if not (as_it_is or cut) and may_wait(unit.options.backend, capture):
        caller = _in_background(miss, emitted, given, static, capture.graph.fake)
        emitted.set_graph(caller)
        messages.captured(point, miss.data, capture, emitted)
        return None
    began = time.perf_counter()
    try:
        with unlogged_failures(), capture.graph.compiling(), sizes_from_zero(plan.from_zero):
            compiled = (_as_it_is if as_it_is else backends.compile_graph)(
                unit.options.backend,
                given,
                [entry.for_backend() for entry in emitted.inputs],
                fake_mode=capture.graph.fake,
                static=static,
                aside=capture.graph.floats_aside(),
                symbolic=bool(capture.number_sources),
                function=where(miss.data.chain)[0],
                point=point.name,
                fakes=[entry.node.meta["val"] for entry in emitted.inputs],
                written=written_in_parts(capture.graph) if cut else None,
                views_outside=not cut and may_take_views_outside(unit.options.backend, capture),
            )
    except errors.BackendFailed as failed:
        if given is not module:
            said = f"the backend refuses repeated layers ({failed})"
            return Retry(plan.having(inlined=True), f"{said}; they are inlined")
        retry = without_refused(miss, plan, capture, failed)
        if retry is not None:
            return retry
        inputs = [entry.example for entry in emitted.inputs]
        backend = unit.options.backend
        _tell_repro(repro.graph_failed(module, inputs, backend.name, backend.compiler, failed))
        if unit.options.fullgraph or config.raise_backend_errors or config.strict:
            raise
        _log.warning("%s: %s; the graph runs uncompiled%s", point.name, failed, _BACKEND_HINT)
        return Retry(plan.having(uncompiled=True), f"{failed}; the graph runs uncompiled")
    if small:
        miss.unit.small_graph_time += time.perf_counter() - began
    made = compiled
    if config.verify:
        compiled = backends.verified(compiled, module, point.name, config.strict)
    compiled = capture.graph.keeping_modes(compiled)
    if capture.functions[0]:
        compiled = torch_state.running_without_modes(compiled)
    emitted.set_graph(compiled)
    emitted.graph_kept = _runs(made) == module.forward and not config.verify
    emitted.backend_failed = plan.uncompiled
    messages.captured(point, miss.data, capture, emitted)
    return None


def _in_background(miss: Miss, emitted: Any, given: Any, static: list[int], fake_mode: Any) -> Any:
    """What runs the graph as it is until a thread has compiled `given`, of which it gets a copy."""
    backend, module = miss.unit.options.backend, emitted.module
    compile = functools.partial(
        backends.compile_graph,
        backend,
        copied(module) if given is module else given,
        [entry.for_backend() for entry in emitted.inputs],
        fake_mode=fake_mode,
        static=static,
        function=where(miss.data.chain)[0],
        point=miss.point.name,
        fakes=[entry.node.meta["val"] for entry in emitted.inputs],
        beside=True,
    )
    raises = miss.unit.options.fullgraph or config.raise_backend_errors or config.strict
    return compiled_later(module, compile, miss.point.name, raises)


def _is_small_and_behind_a_break(miss: Miss, capture: Capture) -> bool:
    """Whether such graphs may come again and again: one for each expert in a loop over experts,
    say. A point at the start of a function has a limit of its own."""
    entry = miss.data.chain[0].index == 0 and len(miss.data.chain) == 1
    return not entry and capture.graph.ops <= _SMALL and not miss.unit.options.fullgraph


def _over_small_graph_time(miss: Miss, capture: Capture) -> bool:
    """Whether the backend has taken longer for small graphs of this function than their operations
    are likely to: then they are run as they are."""
    seconds = miss.unit.small_graph_time
    if seconds <= config.small_graph_seconds:
        return False
    text = f"small graphs of this function took {seconds:.1f} s to compile (small_graph_seconds)"
    events.emit(events.RunPlainly(capture.graph.ops, text, point=miss.point.name))
    return True


def _runs(compiled: Any) -> Any:
    """What a caller calls."""
    return compiled.run if isinstance(compiled, backends.Caller) else compiled


def _as_it_is(backend: Any, module: Any, inputs: Any, **options: Any) -> Any:
    """The graph itself, traced anew: the backend may have changed the one that it failed on."""
    return module.forward


def without_refused(
    miss: Miss, plan: Plan, capture: Capture, failed: errors.BackendFailed
) -> Retry | None:
    """A plan under which the backend may succeed, if there is one. In turn: floats as data, if it
    asks for their values, fused steps of optimizers by Python, derivatives by Python, sizes as they
    are now, floats as constants, numbers from data outside the graph, no symbols at all."""
    graph, said = capture.graph, f"the backend refuses the graph ({failed})"
    names = backends.wanted_constants(failed)
    as_data = not plan.floats_as_data and not graph.makes_constants()
    asked = names is not None and as_data
    fused = frozenset(graph.fused)
    if fused - plan.by_python and not asked:
        return Retry(plan.leaving(fused), f"{said}; Python runs the optimizer's fused step")
    derivatives = frozenset(graph.derivatives.positions)
    if derivatives - plan.by_python and not asked:
        return Retry(plan.leaving(derivatives), f"{said}; Python computes derivatives")
    if plan.from_zero and not asked:
        return Retry(plan.having(from_zero=False), f"{said}; sizes are not 0 or 1")
    floats = {p.source.path() for p in capture.number_sources if p.kind == "float"} - plan.constants
    if names is not None or (floats and plan.floats_as_data):
        from suture.compiler.guards import shapes

        paths = frozenset(shapes.paths_of(names or set(), capture.number_sources))
        now = "data" if as_data else "constants"
        return Retry(plan.refusing(paths, as_data), f"{said}; floats are {now}")
    if graph.origins and not plan.without_data and not miss.unit.options.fullgraph:
        return Retry(plan.having(without_data=True), f"{said}; numbers from data stay outside it")
    if not capture.number_sources or plan.dynamic is False:
        return None
    level = logging.WARNING if plan.dynamic else logging.INFO  # symbols were asked for
    _log.log(level, "%s: %s; its sizes and numbers become constants", miss.point.name, failed)
    return Retry(plan.having(dynamic=False), f"{said}; sizes and numbers are constants")


def _unsettled(miss: Miss, reason: str, tries: int) -> Uncompiled:
    """The limit on tries is reached: the point is interpreted from now on."""
    function = where(miss.data.chain)[0]
    limit = Break(internal.RETRY_LIMIT, function=function, count=str(tries), reason=reason)
    location = interpret_from_now_on(miss.point, limit)
    if miss.unit.options.fullgraph:
        raise messages.unsupported(limit, (location,))
    return INTERPRET


def _runs_in_a_frame(miss: Miss) -> Uncompiled:
    """A function that reads the variables of frames, its own too, needs one that has them."""
    function = where(miss.data.chain)[0]
    interpret_from_now_on(miss.point, Break(python.FRAME_ACCESS, call=f"{function}()"))
    return INTERPRET


def _left_to_python(miss: Miss) -> Uncompiled:
    """Plain Python that takes long: it runs as it is, now and later."""
    assert miss.trace is not None
    assert miss.trace.progress.limit_reached is not None
    report(miss.point, miss.trace.progress.limit_reached)
    note_in_vain(miss.data, miss.state)
    return THIS_CALL_PLAINLY


def _nowhere() -> None:
    """Stands for the tracer once it is done, for those who live longer."""


_BACKEND_HINT = (
    "\n  hint: SUTURE_RAISE_BACKEND_ERRORS=1 raises the error; SUTURE_REPRO_DIR=FOLDER writes a"
    " script of the graph, which `suture minify` reduces."
)


def _tell_fault(miss: Miss, error: Exception, fault: Break) -> None:
    _log.warning("%s", fault, exc_info=error)
    _write_repro(miss.data, miss.state, error)


def _write_repro(data: PointData, state: tuple[Any, ...], error: Exception) -> None:
    given = dict(zip(slot_names(data.chain), state)) if len(data.chain) == 1 else {}
    _tell_repro(repro.function_failed(state[0], given, error))


def _tell_repro(path: str) -> None:
    if path:
        _log.warning("a script that shows the failure was written: %s", path)


def _fault(point: _core.Point, error: Exception) -> None:
    """Something unforeseen: the frame runs in the interpreter, and the fault is reported."""
    _, file, line = where(point.data.chain)
    text = f"{type(error).__name__}: {error}"
    reason = Break(internal.INTERNAL_FAULT, error=text, phase="compile", where=f"{file}:{line}")
    report(point, reason)
    if config.strict:
        raise errors.InternalError(str(reason)) from error
    _log.warning("%s", reason, exc_info=error)
    point.data.given_up = True


hide(answer.__code__)
__all__ = ["answer", "compile_point", "explain_miss", "history_of", "tell_watched"]
