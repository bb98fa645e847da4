"""The map: from a state at a point to an installed variant, one call per line."""

from __future__ import annotations

import contextlib
import keyword
import logging
from typing import Any

from suture import backends, config, errors, events, messages, repro
from suture.backends.interrupts import outside_imports
from suture.breaks import Break, calls, internal
from suture.capture import Again, Capture, Interpret, Return, Run, Yield
from suture.dispatch import PointData, Unit, Variant, beside, torch_state
from suture.emit import emit
from suture.graph import is_scalar, put_asserts, sizes_from_zero
from suture.graph.quiet import quiet_failures
from suture.guards import finish
from suture.hook import where
from suture.tracer import Restart, Tracer
from suture.variables import MadeByPython

_log = logging.getLogger("suture.pipeline")
_RESTARTS = 64  # a region that must be cut more often than this is interpreted


def compile_point(
    unit: Unit, point: Any, data: PointData, state: tuple[Any, ...]
) -> Variant | None:
    """Trace, guard, emit, compile and install a variant for this state. None: interpret."""
    try:
        with (
            outside_imports(),
            torch_state.without_saved_tensor_hooks(),
            torch_state.without_function_modes() as modes,
        ):
            return _compile(unit, point, data, state, modes)
    except (errors.SutureError, KeyboardInterrupt, SystemExit):
        raise
    except RecursionError as error:
        _out_of_room(data, point, error)  # the program will come to the end of the stack by itself
        return None
    except Exception as error:
        _fault(data, point, error)
        _tell_repro(repro.function_failed(state[0], state, error))
        return None


def _compile(
    unit: Unit, point: Any, data: PointData, state: tuple[Any, ...], modes: list[Any]
) -> Variant | None:
    name = point.name
    told = None
    for _ in range(_RESTARTS):
        with events.phase("trace", name):
            capture, watch = trace(unit, data, state, torch_state.asked(modes))
        if unit.options.fullgraph and data.history.becomes:
            capture.forget()
            return None  # this call makes modules what they are; the next one is compiled
        if told != data.history.without_data and not unit.worth_compiling(data, capture, state):
            capture.forget()
            return None
        try:
            with events.phase("emit", name):
                emitted = emit(capture, data.chain, name_of(data.chain), unit.point)
        except MadeByPython as wanted:
            data.history.by_python.add(wanted.place)
            capture.forget()
            continue
        except RecursionError:  # too deep to be written down: the break is told all the same
            tell(unit, point, data, capture)
            raise
        if told != data.history.without_data:
            told = data.history.without_data
            messages.traced(point, data, capture, watch)
            tell(unit, point, data, capture)
        torch_state.guard(capture.guards, modes)
        with events.phase("backend", name):
            if install_graph(unit, point, data, capture, emitted):
                break
    else:
        raise RuntimeError("a region was refused again and again")
    with events.phase("guard", name):
        from suture.guards import shapes  # needs sympy, which takes a while to import

        shapes.check_marks(capture.graph.shape_env, capture.places)
        shapes.add(capture.guards, capture.graph, capture.places)
        capture.graph.decisions.where = _nowhere
        program = finish(capture.guards)
    if config.verify and beside.can_run_twice(data, capture, emitted.parameters):
        emitted.function = beside.Beside(emitted, name, config.strict)
    variant = unit.install(point, data, capture, emitted, program)
    messages.installed(point, data, variant, state)
    capture.forget()
    return variant


def trace(
    unit: Unit, data: PointData, state: tuple[Any, ...], modes: list[Any] | None = None
) -> tuple[Capture, Any]:
    """Run the region symbolically; again from its start if it must stop earlier than it did, or
    changes what it took for a constant. Gives also who watched it, if anybody did."""
    forced = None
    assumed: list[Any] = []
    for _ in range(_RESTARTS):
        tracer = Tracer(data.chain, state, data.history, forced, modes)
        tracer.watch = watch = messages.watcher()
        if forced is None:
            tracer.allowed = tracer.allowance = unit.trace_allowance()
        tracer.whole = unit.options.fullgraph
        try:
            with sizes_from_zero(data.history.from_zero), quiet_failures():
                capture = tracer.run()
            if not tracer.learn_growth() and not _needs_sizes(data, capture):
                unit.overworked += tracer.overworked
                capture.tracer = tracer
                capture.guards.entries += assumed
                return capture, watch
            forced = None
        except Restart as restart:
            unit.overworked += tracer.overworked
            forced = (restart.step, restart.exit)
            assumed = _assumed_by_raising(tracer, restart.exit)
        finally:
            for restore in reversed(tracer.restores):
                restore()
        tracer.__dict__.clear()  # what it knows of the program goes at once
    raise RuntimeError("a region was cut again and again")


def _assumed_by_raising(tracer: Tracer, exit: Any) -> list[Any]:
    """What the trace looked at to find that the program raises. The next one stops before that
    instruction and does not look; other values may not raise there."""
    if not isinstance(exit, Interpret) or not exit.raises:
        return []
    from suture.guards import shapes

    shapes.add(tracer.guards, tracer.graph, tracer.symbol_places)
    return tracer.guards.entries


def _needs_sizes(data: PointData, capture: Capture) -> bool:
    """Whether the trace failed because it took sizes of 0 and 1 for any size."""
    if not data.history.from_zero or isinstance(capture.exit, Return):
        return False
    data.history.from_zero = False
    return True


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


def name_of(chain: Any) -> str:
    """A readable name for the variant: the function's, with the line if it starts elsewhere."""
    name, _, line = where(chain)
    plain = (
        "".join(c if c.isalnum() else "_" for c in name.rpartition(".")[2]).strip("_") or "region"
    )
    if not plain.isidentifier() or keyword.iskeyword(plain):
        plain = f"region_{plain}"
    return plain if chain[0].index == 0 and len(chain) == 1 else f"{plain}_at_{line}"


def install_graph(unit: Unit, point: Any, data: PointData, capture: Capture, emitted: Any) -> bool:
    """Hand the graph to the backend. False if it could not take some number as a symbol: the
    region is to be traced again, and the history says how."""
    module = emitted.module
    if module is None:
        return True
    put_asserts(module, capture.graph.shape_env)
    if is_scalar(module):
        emitted.set_graph(module.forward)
        return True
    if data.history.floats_are_data:
        capture.graph.floats_as_data()
    static = [i for i, entry in enumerate(emitted.inputs) if entry.rank() < 2]
    try:
        with capture.graph.compiling(), sizes_from_zero(data.history.from_zero):
            compiled = (_as_it_is if data.history.uncompiled else backends.compile_graph)(
                unit.options.backend,
                module,
                [entry.for_backend() for entry in emitted.inputs],
                fake_mode=capture.graph.fake,
                static=static,
                aside=capture.graph.floats_aside(),
                symbolic=bool(capture.places),
                function=where(data.chain)[0],
                point=point.name,
            )
    except errors.BackendFailed as failed:
        if _another_way(unit, point, data, capture, failed):
            return False
        inputs = [entry.example for entry in emitted.inputs]
        _tell_repro(repro.graph_failed(module, inputs, unit.options.backend.name, failed))
        if unit.options.fullgraph or config.raise_backend_errors or config.strict:
            raise
        _log.warning("%s: %s; the graph runs uncompiled", point.name, failed)
        data.history.uncompiled = True
        return False
    data.history.uncompiled = False  # another variant of the point may be compiled
    if config.verify:
        compiled = backends.verified(compiled, module, point.name, config.strict)
    compiled = capture.graph.keeping_modes(compiled)
    if capture.functions[0]:
        compiled = torch_state.running_without_modes(compiled)
    emitted.set_graph(compiled)
    messages.captured(point, data, capture, emitted)
    return True


def _as_it_is(backend: Any, module: Any, inputs: Any, **options: Any) -> Any:
    """The graph itself, traced anew: the backend may have changed the one that it failed on."""
    return module.forward


def _another_way(
    unit: Unit, point: Any, data: PointData, capture: Capture, failed: errors.BackendFailed
) -> bool:
    """Whether the backend may succeed with fewer symbols; then the history says which. In turn:
    derivatives by Python, floats as data, floats as constants, numbers from data outside the graph,
    no symbols at all."""
    history = data.history
    if capture.graph.derivatives.places - history.by_python:
        history.by_python |= capture.graph.derivatives.places
        return True
    if history.from_zero:
        history.from_zero = False
        return True
    names = backends.wanted_constants(failed)
    floats = {p.source.path() for p in capture.places if p.kind == "float"} - history.constant
    if names is not None or (floats and history.floats_are_data):
        from suture.guards import shapes

        history.refused(shapes.paths_of(names or set(), capture.places))
        return True
    if capture.graph.origins and not history.without_data and not unit.options.fullgraph:
        _log.info("%s: %s; numbers from data stay outside the graph", point.name, failed)
        history.without_data = True
        return True
    if not capture.places or history.dynamic is False:
        return False
    level = logging.WARNING if history.dynamic else logging.INFO  # symbols were asked for
    _log.log(level, "%s: %s; its sizes and numbers become constants", point.name, failed)
    history.dynamic = False
    return True


def _nowhere() -> None:
    """Stands for the tracer once it is done, for those who live longer."""


def _tell_repro(path: str) -> None:
    if path:
        _log.warning("a script that shows the failure was written: %s", path)


def _out_of_room(data: PointData, point: Any, error: RecursionError) -> None:
    """The stack is nearly full: say so, if there is room for that."""
    with contextlib.suppress(RecursionError):
        function, file, line = where(data.chain)
        reason = Break(calls.TRACING_OUT_OF_ROOM, error=type(error).__name__)
        place = events.Where(function, file, line or 0)
        events.emit(events.Interpreted(place, str(reason), point=point.name))


def _fault(data: PointData, point: Any, error: Exception) -> None:
    """Something unforeseen: the frame runs in the interpreter, and the fault is told."""
    function, file, line = where(data.chain)
    text = f"{type(error).__name__}: {error}"
    reason = Break(internal.INTERNAL_FAULT, error=text, phase="compile", where=f"{file}:{line}")
    place = events.Where(function, file, line or 0)
    events.emit(events.Interpreted(place, str(reason), point=point.name))
    if config.strict:
        raise errors.InternalError(str(reason)) from error
    _log.warning("%s", reason, exc_info=error)
    data.given_up = True
