"""Compiling one graph with one backend, and telling what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import torch.fx

from suture import config, events
from suture.backends.backward import expect
from suture.backends.barriers import cut_at_barriers, has_barrier
from suture.backends.buckets import bucketed
from suture.backends.caller_choice import choose
from suture.backends.configure import Backend
from suture.backends.failures import hint_for, source_lines
from suture.backends.overwritten import Overwritten, given_copies, overwritten_inputs, with_copies
from suture.backends.own_results import copies_of_inputs, is_written_later, with_own_results
from suture.backends.record import count_ops
from suture.backends.request import Allowed, Origin, TracedGraph
from suture.backends.small_graphs import small
from suture.backends.surroundings import compiling_state
from suture.backends.views import split_views, with_views
from suture.errors import BackendFailed
from suture.runtime.callers import Caller, Situation, Wrapped
from suture.runtime.signals import promptly
from suture.torch_private import MissingName, aot_facts, aot_training, compilers

_UNNAMED, _NOTHING = Origin(), Allowed()


def compile_graph(
    backend: Backend,
    graph: TracedGraph,
    origin: Origin = _UNNAMED,
    allowed: Allowed = _NOTHING,
    *,
    in_background: bool = False,
) -> Caller:
    """What runs `graph` as `backend` compiled it: graph inputs in, tuple or list of outputs out.

    The module belongs to the backend afterwards. `in_background`: the program runs in other threads
    meanwhile. Raises BackendFailed, with the backend's exception as its cause; KeyboardInterrupt,
    MissingName and the like pass. A backend that declines the graph (torch's SkipFrame) gets it run
    as it is. Random number generators and grad mode are afterwards as they were before. Emits
    BackendCompiled.
    """
    ops = count_ops(graph.module)
    plain = small(graph.module) if backend.optimizes() else None
    split = split_views(graph.module, graph.derives()) if allowed.views_outside else None
    if split is not None:
        if split.front is None:
            return _as_it_is(graph.module, "nothing but views")
        graph = replace(graph, module=split.front)
    copies = copies_of_inputs(graph.module) if backend.is_inductor() else {}
    if copies and is_written_later(graph.module, copies):
        reason = "writes to what a result is a copy of"
        return with_views(_as_it_is(graph.module, reason), split)
    behind = _overwritten(backend, graph)
    if behind is not None:
        if copies or not behind.apart:
            reason = "writes to what a derivative needs"
            return with_views(_as_it_is(graph.module, reason), split)
        graph = given_copies(graph, behind)
    lines = () if backend.is_eager() else source_lines(graph.module)  # others may change the graph
    began, failure = perf_counter(), ""
    try:
        made = _compile(backend, graph, origin, allowed, in_background)
        situation = Situation.now(made.run, graph.inputs)
        if behind is not None:
            return with_views(Wrapped(with_copies(made.run, behind)), split)
        if made.in_parts:  # one of them alone may have been heard of
            return Wrapped(made.run)
        if copies:
            return with_views(Wrapped(with_own_results(made.run, copies)), split)
        if backend.records_cuda_graphs():
            plain = None  # a replay costs less than any operation
        fakes, chosen = tuple(graph.fakes or graph.inputs), _tell(origin.point, ops)
        return choose(situation, made.heard, plain, fakes, chosen, backend.optimizes(), split)
    except MissingName:
        raise  # torch's private parts, not the backend: the function is interpreted
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        if compilers.declines(error):
            return with_views(_as_it_is(graph.module, "the backend declined it"), split)
        raise BackendFailed(
            backend.name,
            error,
            function=origin.function,
            graph=origin.graph,
            lines=lines or source_lines(graph.module),
            hint=hint_for(error),
        ) from error
    finally:
        if events.listening():
            done = (backend.name, origin.graph, ops, perf_counter() - began, failure)
            events.emit(events.BackendCompiled(*done, point=origin.point))


def _overwritten(backend: Backend, graph: TracedGraph) -> Overwritten | None:
    """The inputs of which AOTAutograd would forget what they held."""
    saves = backend.can_be_kept() and not backend.is_eager()
    if not saves or not graph.derives() or has_barrier(graph.module.graph):
        return None
    return overwritten_inputs(graph.module)


@dataclass(frozen=True)
class _Compiled:
    """What a backend gave back, and what AOTAutograd told meanwhile. `in_parts`: it was called for
    each part between barriers."""

    run: Callable[..., Any]
    heard: aot_facts.Heard
    in_parts: bool


def _compile(
    backend: Backend, graph: TracedGraph, origin: Origin, allowed: Allowed, in_background: bool
) -> _Compiled:
    """Call the backend, in the state that it needs."""
    gm, compile_id = graph.module, compilers.new_compile_id()
    kept = bool(config.cache_dir) and backend.can_be_kept() and not backend.is_eager()
    if not backend.is_eager():
        expect(compile_id, origin.point)
    if graph.static:
        compilers.mark_static_inputs(gm, graph.static, compile_id)
    with (
        compiling_state(backend, graph, compile_id, in_background, allowed.in_parts),
        aot_training.both_graphs(kept),
        aot_facts.listening(backend.optimizes() or kept) as heard,
        promptly(),
    ):
        cut = cut_at_barriers(backend, gm, compile_id, allowed.in_parts)
        parts = cut or bucketed(backend, compile_id)
        run = (parts or backend)(gm, list(graph.inputs))
        if kept:
            aot_training.nothing_donated(heard)
        if backend.records_cuda_graphs():
            compilers.count_outermost_calls()
    if not callable(run):
        raise TypeError(f"the backend gave back {type(run).__name__}, not a callable")
    return _Compiled(run, heard, cut is not None)


def _as_it_is(gm: torch.fx.GraphModule, reason: str) -> Caller:
    """Runs the graph's operations one by one."""
    made = Wrapped(gm.forward)
    made.description = f"plain: {reason}"
    return made


def _tell(point: str, ops: int) -> Callable[[str], None]:
    """Tells that the operations of a graph are run one by one."""
    return lambda text: events.emit(events.RunPlainly(ops, text, point=point))
