"""Compiling one graph with one backend: the state it needs, and what its failures say."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Any

import torch

from suture import config, events
from suture.backends.backward import expect
from suture.backends.barriers import cut_at_barriers
from suture.backends.buckets import bucketed
from suture.backends.configure import Backend
from suture.backends.own_results import copies_of_inputs, is_written_later, with_own_results
from suture.backends.record import count_ops
from suture.backends.small import small
from suture.backends.views import split_views, with_views
from suture.backends.ways import choose
from suture.errors import BackendFailed
from suture.inference_mode import switch
from suture.runtime.callers import Caller, Situation, Wrapped
from suture.torch_private import (
    MissingName,
    aot_training,
    bodies,
    compilers,
    cuda_graphs,
    kernel_libraries,
    vector_isa,
)


def compile_graph(
    backend: Backend,
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    fake_mode: Any = None,
    static: Sequence[int] = (),
    aside: Sequence[str] = (),
    symbolic: bool = False,
    function: str = "",
    graph: str = "",
    lines: Sequence[str] = (),
    point: str = "",
    fakes: Sequence[Any] = (),
    beside: bool = False,
    may_cut: bool = False,
    views_outside: bool = False,
) -> Callable[..., Any]:
    """The callable that `backend` makes of `gm`: graph inputs in, tuple or list of outputs out.

    `inputs` are the example inputs, fake tensors of `fake_mode`, and ints or SymInts. `static` are
    the positions of inputs that keep their address (parameters, buffers), `aside` the names of
    symbolic floats that are not in the graph. `symbolic`: guards are made of what the backend
    assumes of sizes, and all of it must be known when it is done. `function`, `graph` and
    `lines` are what a failure is described with; without `lines` they come from the nodes' stack
    traces. `fakes` are the inputs as they were while tracing, with their symbols. The module
    belongs to the backend afterwards. `beside`: the program runs in other threads meanwhile, so
    what belongs to the whole process is left alone, and the backward graph is compiled at once.
    `views_outside`: no mode changes in the graph, and its inputs are plain tensors, so views that
    it ends with may be taken outside. `may_cut`: nothing but its operations speaks against
    compiling a graph with barriers in parts.

    Raises BackendFailed, with the backend's exception as its cause; KeyboardInterrupt, MissingName
    and the like pass. A backend that declines the graph (torch's SkipFrame) gets it run as it is.
    Random number generators and grad mode are afterwards as they were before. Emits
    BackendCompiled.
    """
    ops = count_ops(gm)
    plain = small(gm) if backend.optimizes() else None
    split = split_views(gm, _derives(inputs)) if views_outside else None
    if split is not None:
        if split.front is None:
            return _as_it_is(gm, "nothing but views")
        gm = split.front
    copies = copies_of_inputs(gm) if backend.name == "inductor" else {}
    if copies and is_written_later(gm, copies):
        return with_views(_as_it_is(gm, "writes to what a result is a copy of"), split)
    described = tuple(lines)
    if not described and backend.name != "eager":  # others may change the graph
        described = source_lines(gm)
    compile_id = compilers.new_compile_id()
    kept = bool(config.cache_dir) and backend.name in ("aot_eager", "inductor")
    if backend.name != "eager":
        expect(compile_id, point)
    if static:
        compilers.mark_static_inputs(gm, static, compile_id)
    began = perf_counter()
    failure = ""
    try:
        told = symbolic and backend.name != "eager"
        with (
            _state_for(backend, gm, compile_id, fake_mode, aside, told, beside),
            aot_training.both_graphs(kept),
            compilers.listening(backend.optimizes() or kept) as heard,
        ):
            cut = cut_at_barriers(backend, backend.name, gm, compile_id, may_cut)
            parts = cut or bucketed(backend, compile_id)
            compiled = (parts or backend)(gm, list(inputs))
            if kept:
                aot_training.nothing_donated(heard)
            if backend.records_cuda_graphs():
                compilers.count_outermost_calls()
                plain = None  # a replay costs less than any operation
        if not callable(compiled):
            raise TypeError(f"the backend gave back {type(compiled).__name__}, not a callable")
        situation = Situation.now(compiled, inputs)
        if cut is not None:  # one of its parts alone may have been heard of
            return Wrapped(situation.wrapped)
        if copies:
            return with_views(Wrapped(with_own_results(situation.wrapped, copies)), split)
        chosen, optimizes = _tell(point, ops), backend.optimizes()
        return choose(situation, heard, plain, tuple(fakes or inputs), chosen, optimizes, split)
    except MissingName:
        raise  # torch's private parts, not the backend: the function is interpreted
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        if compilers.declines(error):
            run: Callable[..., Any] = gm.forward
            return run
        raise BackendFailed(
            backend.name,
            error,
            function=function,
            graph=graph,
            lines=described or source_lines(gm),
            hint=hint_for(error),
        ) from error
    finally:
        if events.listening():
            seconds = perf_counter() - began
            events.emit(
                events.BackendCompiled(backend.name, graph, ops, seconds, failure, point=point)
            )


def _as_it_is(gm: torch.fx.GraphModule, reason: str) -> Caller:
    """Runs the graph's operations one by one."""
    made = Wrapped(gm.forward)
    made.description = f"plain: {reason}"
    return made


def _derives(inputs: Sequence[Any]) -> bool:
    """Whether autograd follows a graph of these inputs."""
    tensors = (one for one in inputs if isinstance(one, torch.Tensor))
    return torch.is_grad_enabled() and any(one.requires_grad for one in tensors)


def _tell(point: str, ops: int) -> Callable[[str], None]:
    """Tells that the operations of a graph are run one by one."""
    return lambda text: events.emit(events.RunPlainly(ops, text, point=point))


@contextmanager
def _state_for(
    backend: Backend,
    gm: torch.fx.GraphModule,
    compile_id: Any,
    fake_mode: Any,
    aside: Sequence[str],
    told: bool,
    beside: bool,
) -> Iterator[None]:
    """The state of torch and of the process in which a backend compiles a graph. `told`: what it
    assumes of sizes must be known when it is done; the others as for `compile_graph`."""
    replays = backend.name == "inductor" and backend.records_cuda_graphs()
    with (
        _LOCK,
        _thread_state_kept() if beside else _global_state_kept(),
        compilers.surroundings(fake_mode, compile_id),
        compilers.floats_aside(aside),
        compilers.backward_at_once(beside),
        nullcontext() if beside else bodies.known_bodies(gm),
        compilers.telling_assumptions(told, fake_mode, not aside),
        cuda_graphs.short_replays(replays),
        vector_isa.first_alone() if backend.name == "inductor" else nullcontext(),
        kernel_libraries.together() if backend.name == "inductor" else nullcontext(),
    ):
        yield


# Compilers of torch keep much in globals. Reentrant: a backend may compile parts by this function.
_LOCK = threading.RLock()


@contextmanager
def _thread_state_kept() -> Iterator[None]:
    """Puts back the modes that a compiler might switch in this thread."""
    modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    try:
        yield
    finally:
        switch(*modes)


@contextmanager
def _global_state_kept() -> Iterator[None]:
    """Puts back what a compiler might change under the user: generators, modes, dtype."""
    python = random.getstate()
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    dtype = torch.get_default_dtype()
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        switch(*modes)
        if torch.get_default_dtype() is not dtype:
            torch.set_default_dtype(dtype)


def source_lines(gm: torch.fx.GraphModule, limit: int = 8) -> tuple[str, ...]:
    """The user's lines that a graph came from, each once, in order, as its nodes tell.

    More than `limit` are cut in the middle, and the cut says how many are missing.
    """
    seen: dict[str, None] = {}
    for node in gm.graph.nodes:
        trace = node.stack_trace
        if trace:
            seen[_innermost(trace)] = None
    found = list(seen)
    if len(found) > limit:
        half = limit // 2
        missing = len(found) - 2 * half
        found = [*found[:half], f"... {missing} more lines ...", *found[-half:]]
    return tuple(found)


def _innermost(trace: str) -> str:
    """`File "f.py", line 3, in fn` and its source, the last of a formatted stack, on one line."""
    tail = trace.rstrip().splitlines()
    starts = [at for at, line in enumerate(tail) if line.lstrip().startswith('File "')]
    return "  ".join(line.strip() for line in tail[starts[-1] if starts else -1 :])


def hint_for(error: BaseException) -> str:
    """What the user can do about a backend's failure, where its cause is a known one; else ""."""
    for cause in _causes(error):
        kind, text = type(cause).__name__, str(cause)
        if kind == "InvalidCxxCompiler":
            return _no_compiler()
        if kind in ("CppCompileError", "CppBuildError") and "Python.h" in text:
            return (
                "Inductor's C++ code needs Python's header files (on Debian: "
                "apt-get install python3-dev)"
            )
        if kind in ("TritonMissing", "GPUTooOldForTriton"):
            return "Inductor needs a working Triton for this device; see the error above"
    return ""


def _no_compiler() -> str:
    tried = os.environ.get("CXX") or "g++"
    return (
        f"Inductor needs a C++ compiler and found none that works (it tried {tried}). Install g++ "
        "(on Debian: apt-get install g++) or name another compiler in the environment variable "
        'CXX. Without one, backend="aot_eager" and backend="eager" still work'
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that it was raised from, each once."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        linked = (one.__cause__, one.__context__, getattr(one, "inner_exception", None))
        waiting.extend(link for link in linked if isinstance(link, BaseException))


def wanted_constants(failed: BackendFailed) -> set[str] | None:
    """The names of symbolic floats without whose values the backend cannot compile the graph;
    None if it failed for another reason."""
    inner = failed.inner_exception
    return compilers.wanted_constants(inner) if isinstance(inner, BaseException) else None
