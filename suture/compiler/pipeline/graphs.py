"""From a captured graph to what runs it: what the backend made of it, or the graph as it is."""

from __future__ import annotations

import functools
import logging
import time
from typing import Any

import torch.fx

from suture import backends, config, errors, events, messages, repro
from suture.compiler.capture import Capture
from suture.compiler.emit import Emitted
from suture.compiler.graph import (
    copied,
    guard_beginnings,
    is_scalar,
    keeps_address,
    put_asserts,
    sizes_from_zero,
)
from suture.compiler.graph.aliased_inputs import writes_what_inputs_share
from suture.compiler.graph.collectives import may_be_in_parts
from suture.compiler.graph.fake_failures import unlogged_failures
from suture.compiler.graph.float_inputs import floats_aside, makes_constants, pass_as_data
from suture.compiler.graph.hooked import hooks_one_of_several
from suture.compiler.graph.self_overlapping import writes_overlapping
from suture.compiler.graph.shared_memory import guard_own_memory, writes_part_of_shared
from suture.compiler.guards import shapes
from suture.compiler.misses.background import compiled_in_background, may_compile_in_background
from suture.compiler.misses.layers import may_take_views_outside, with_shared_layers
from suture.compiler.pipeline.miss import Miss, log_repro
from suture.compiler.plan import Plan, Retry
from suture.runtime import torch_state
from suture.torch_private import fake_memory

_log = logging.getLogger("suture.compiler.pipeline")
_SMALL = 24  # operations of a graph
_BACKEND_HINT = (
    "\n  hint: SUTURE_RAISE_BACKEND_ERRORS=1 raises the error; SUTURE_REPRO_DIR=FOLDER writes a"
    " script of the graph, which `suture minify` reduces."
)


def install_graph(miss: Miss, plan: Plan, capture: Capture, emitted: Emitted) -> Retry | None:
    """Hand the graph to the backend, and let the variant call what it returns. Gives the next plan
    if the backend failed on the graph."""
    retry = _install(miss, plan, capture, emitted)
    backend = miss.unit.options.backend
    if backend.is_done_with_tensors() and not may_compile_in_background(backend, capture):
        fake_memory.forget(capture.graph.fake)
    return retry


def _install(miss: Miss, plan: Plan, capture: Capture, emitted: Emitted) -> Retry | None:
    module, backend = emitted.module, miss.unit.options.backend
    if module is None:
        return None
    put_asserts(module, capture.graph.shape_env)
    if is_scalar(module):
        emitted.set_graph(module.forward)
        emitted.graph_kept = True
        return None
    if plan.floats_as_data:
        pass_as_data(capture.graph)
    if backend.optimizes():
        guard_beginnings(capture.guards, emitted.inputs)
    if _runs_uncompiled(miss, plan, capture, module):
        _set_graph(miss, plan, capture, emitted, module.forward)
        return None
    if backend.optimizes():
        guard_own_memory(capture.guards, capture.graph)
    cut = backends.has_barrier(module.graph)
    given = module
    if not (plan.inlined or cut):
        given = with_shared_layers(backend, capture.graph, module, miss.point.name)
    if not cut and may_compile_in_background(backend, capture):
        emitted.set_graph(_in_background(miss, emitted, given, capture))
        messages.captured(miss.point, capture, emitted)
        return None
    began = time.perf_counter()
    try:
        with unlogged_failures(), capture.graph.compiling(), sizes_from_zero(plan.from_zero):
            compiled = backends.compile_graph(
                backend,
                _traced(emitted, given, capture),
                _origin(miss),
                backends.Allowed(
                    in_parts=cut and may_be_in_parts(capture.graph),
                    views_outside=not cut and may_take_views_outside(backend, capture),
                ),
            )
    except errors.BackendFailed as failed:
        return _after_failure(miss, plan, capture, emitted, failed, given is not module)
    if _is_small_and_behind_a_break(miss, capture):
        miss.unit.small_graph_time += time.perf_counter() - began
    _set_graph(miss, plan, capture, emitted, compiled)
    return None


def _set_graph(miss: Miss, plan: Plan, capture: Capture, emitted: Emitted, made: Any) -> None:
    """Let the variant call `made`, in the modes that the graph was captured in."""
    module = emitted.module
    assert module is not None
    compiled = made
    if config.verify:
        compiled = backends.verified(compiled, module, miss.point.name, config.strict)
    compiled = capture.graph.keeping_modes(compiled)
    if capture.functions[0]:
        compiled = torch_state.running_without_modes(compiled)
    emitted.set_graph(compiled)
    runs = made.run if isinstance(made, backends.Caller) else made
    emitted.graph_kept = runs == module.forward and not config.verify
    emitted.backend_failed = plan.uncompiled
    messages.captured(miss.point, capture, emitted)


def _traced(
    emitted: Emitted, given: torch.fx.GraphModule, capture: Capture
) -> backends.TracedGraph:
    """The graph `given`, with what is known of the inputs of the variant's graph."""
    return backends.TracedGraph(
        given,
        [entry.for_backend() for entry in emitted.inputs],
        capture.graph.fake,
        fakes=[entry.node.meta["val"] for entry in emitted.inputs],
        static=[i for i, entry in enumerate(emitted.inputs) if keeps_address(entry)],
        floats_aside=floats_aside(capture.graph),
        symbolic=bool(capture.number_sources),
    )


def _origin(miss: Miss) -> backends.Origin:
    return backends.Origin(miss.function(), miss.point.name)


def _in_background(
    miss: Miss, emitted: Emitted, given: torch.fx.GraphModule, capture: Capture
) -> Any:
    """What runs the graph as it is until a thread has compiled `given`, of which it gets a copy."""
    module = emitted.module
    assert module is not None
    copy = copied(module) if given is module else given
    compile = functools.partial(
        backends.compile_graph,
        miss.unit.options.backend,
        _traced(emitted, copy, capture),
        _origin(miss),
        in_background=True,
    )
    return compiled_in_background(module, compile, miss.point.name, _raises_backend_errors(miss))


def _raises_backend_errors(miss: Miss) -> bool:
    return miss.unit.options.fullgraph or config.raise_backend_errors or config.strict


# ---- graphs that run as they are


def _runs_uncompiled(
    miss: Miss, plan: Plan, capture: Capture, module: torch.fx.GraphModule
) -> bool:
    """Whether the graph is not given to the backend: it failed on this one, would not keep what the
    graph does with shared or overlapping memory or with a hook, or would gain nothing."""
    return (
        plan.uncompiled
        or writes_part_of_shared(capture.graph)
        or writes_overlapping(capture.graph)
        or (miss.unit.options.backend.is_inductor() and writes_what_inputs_share(capture.graph))
        or hooks_one_of_several(capture.reason, module)
        or _gains_nothing(miss, capture)
    )


def _gains_nothing(miss: Miss, capture: Capture) -> bool:
    """Whether compiling the graph would take longer than it gives back; an event says why."""
    seconds = miss.unit.small_graph_time
    if capture.first_step and miss.unit.options.backend.takes_long():
        text = "the first step of an optimizer makes its state, and runs once"
    elif _is_small_and_behind_a_break(miss, capture) and seconds > config.small_graph_seconds:
        text = f"small graphs of this function took {seconds:.1f} s (small_graph_seconds)"
    else:
        return False
    events.emit(events.RunPlainly(capture.graph.ops, text, point=miss.point.name))
    return True


def _is_small_and_behind_a_break(miss: Miss, capture: Capture) -> bool:
    """Whether such graphs may come again and again: one for each expert in a loop over experts,
    say. A point at the start of a function has a limit of its own."""
    entry = miss.data.chain[0].index == 0 and len(miss.data.chain) == 1
    return not entry and capture.graph.ops <= _SMALL and not miss.unit.options.fullgraph


# ---- a backend that fails


def _after_failure(
    miss: Miss,
    plan: Plan,
    capture: Capture,
    emitted: Emitted,
    failed: errors.BackendFailed,
    shares_layers: bool,
) -> Retry:
    """The next plan after the backend failed on the graph; raises where the user wants to see the
    error and no other plan is left. `shares_layers`: repeated layers were calls of one body."""
    if shares_layers:
        said = f"the backend refuses repeated layers ({failed})"
        return Retry(plan.having(inlined=True), f"{said}; they are inlined")
    retry = without_refused(miss, plan, capture, failed)
    if retry is not None:
        return retry
    assert emitted.module is not None
    inputs = [entry.example for entry in emitted.inputs]
    backend = miss.unit.options.backend
    log_repro(repro.graph_failed(emitted.module, inputs, backend.name, backend.compiler, failed))
    if _raises_backend_errors(miss):
        raise failed
    name = miss.point.name
    _log.warning("%s: %s; the graph runs uncompiled%s", name, failed, _BACKEND_HINT)
    return Retry(plan.having(uncompiled=True), f"{failed}; the graph runs uncompiled")


def without_refused(
    miss: Miss, plan: Plan, capture: Capture, failed: errors.BackendFailed
) -> Retry | None:
    """A plan under which the backend may succeed, if there is one. In turn: floats as data, if it
    asks for their values, fused steps of optimizers by Python, derivatives by Python, sizes as they
    are now, floats as constants, numbers from data outside the graph, no symbols at all."""
    graph, said = capture.graph, f"the backend refuses the graph ({failed})"
    names = backends.wanted_constants(failed)
    as_data = not plan.floats_as_data and not makes_constants(graph)
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
