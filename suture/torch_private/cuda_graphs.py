"""The short way to the replay of a CUDA graph that Inductor has recorded.

Inductor's trees decide at each call what to do with a graph: warm up, record, replay, or run it as
it is. In a warm program the answer is to replay the node behind the one that ran last, and most of
the time of a small graph goes into asking. `replaying` asks in the same order what leads to that
answer, with the tree's own checks of the node (`check_invariants`) and its own replay
(`execute_node`), and hands every other answer to the tree: nothing has been changed until then.

Left out is what cannot change that answer: wrappers that pass the call on, the look at knobs for
debugging, the question whether a graph writes to inputs (answered when it was recorded), and the
limit of recordings, where none was made twice.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, NamedTuple

Run = Callable[[list[Any]], Any]
_ALIGNMENT = 16  # bytes: Inductor's code was made for inputs that begin there
_LOOKS = 3  # calls after which nobody looks again for what was recorded


@contextmanager
def short_replays(wanted: bool) -> Iterator[None]:
    """While this is entered, graphs that Inductor compiles in this thread and wraps for CUDA graphs
    are replayed the short way."""
    if not wanted:
        yield
        return
    from torch._inductor import compile_fx

    original = compile_fx.cudagraphify
    thread = threading.get_ident()

    @functools.wraps(original)
    def cudagraphify(*args: Any, **kwargs: Any) -> Any:
        run = original(*args, **kwargs)
        return replaying(run) if threading.get_ident() == thread else run

    compile_fx.cudagraphify = cudagraphify
    try:
        yield
    finally:
        compile_fx.cudagraphify = original


def replaying(run: Run) -> Run:
    """`run`, which Inductor made to record and replay a graph, with a short way to the replay."""
    mine = _OfThread()  # trees are those of a thread

    def replay(inputs: list[Any]) -> Any:
        if mine.short is not None:
            return mine.short(inputs)
        out = run(inputs)
        if mine.looks < _LOOKS:
            mine.looks += 1
            recorded = _recorded(run)
            if recorded is not None:
                mine.short = _short(run, recorded)
        return out

    return replay


class _OfThread(threading.local):
    """What a thread has found: how often it looked, and the way that it takes."""

    looks = 0
    short: Run | None = None


class _Recorded(NamedTuple):
    """Where a graph is in Inductor's trees: the manager of the trees, the graph's name there, and
    the inputs whose alignment the code counts on."""

    manager: Any
    function: Any
    aligned: tuple[int, ...]


def _recorded(run: Run) -> _Recorded | None:
    """What Inductor keeps behind `run` once it ran; None for graphs that are recorded for each
    size, and where a release of torch keeps it otherwise."""
    around = _held(run)
    kept = around.get("compiled_fn") or getattr(around.get("thread_local"), "compiled_fn", None)
    by_sizes = _held(kept).get("fn_cache")
    if type(by_sizes) is not dict or list(by_sizes) != [None]:
        return None
    found: Any = by_sizes[None]
    aligned: tuple[int, ...] = ()
    if type(found) is FunctionType:
        names = _held(found)
        if "inputs_to_check" not in names or "model" not in names:
            return None
        found, aligned = names["model"], tuple(names["inputs_to_check"])
    from torch._inductor.cudagraph_trees import CUDAGraphTreeManager

    if type(found) is not functools.partial or found.args or set(found.keywords) != {"function_id"}:
        return None
    method: Any = found.func
    manager: Any = getattr(method, "__self__", None)
    if type(manager) is not CUDAGraphTreeManager or method != manager.run:
        return None
    return _Recorded(manager, found.keywords["function_id"], aligned)


def _held(fn: Any) -> dict[str, Any]:
    """What a function holds of those around it, by name."""
    if type(fn) is not FunctionType:
        return {}
    names, cells = fn.__code__.co_freevars, fn.__closure__ or ()
    try:
        return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    except ValueError:  # one of them is not set yet
        return {}


def _short(run: Run, recorded: _Recorded) -> Run:
    from torch._inductor.cudagraph_trees import (  # type: ignore[attr-defined]
        CheckInvariantStatus,
        CompilationMode,
        ExecutionState,
    )

    manager, function, aligned = recorded
    replayed = CheckInvariantStatus.SUCCESS
    ready = (ExecutionState.EXECUTION, ExecutionState.NONE)
    skipped = getattr(manager, "skip_cudagraph", None)  # 2.15's name
    if skipped is None:
        skipped = manager.non_cudagraph_managed_mutation_hint
    mode, compile_id = manager.id_to_mode[function], manager.id_to_compile_id[function]
    # What a forward graph computed is needed until a backward graph ran; inference changes nothing.
    pending = {CompilationMode.FORWARD: True, CompilationMode.BACKWARD: False}.get(mode)

    def short(inputs: list[Any]) -> Any:
        if manager.path_state not in ready or manager.graph is None:
            return run(inputs)
        if getattr(manager, "has_live_user_visible_output_cloning", False):
            return run(inputs)
        for i in aligned:
            if inputs[i].data_ptr() % _ALIGNMENT:
                return run(inputs)
        while True:
            node = manager.current_node
            at = None if node is None else node.id
            if skipped[at].get(function) is not False or _often(manager, at, function):
                return run(inputs)
            for child in (manager.roots if node is None else node.children)[function]:
                if child.check_invariants(inputs)[0] is replayed:
                    manager.mode, manager.compile_id = mode, compile_id
                    out = manager.execute_node(child, inputs)
                    if pending is not None:
                        manager.running_forwards_with_pending_backwards = pending
                    return out
            if node is None or function not in manager.roots:
                return run(inputs)
            manager.try_end_curr_execution()  # what ran last is over, if its results are not needed
            if manager.current_node is not None:
                return run(inputs)

    return short


def _often(manager: Any, at: Any, function: Any) -> bool:
    """Whether a graph was recorded so often behind a node that it is no longer."""
    counted = manager.num_rerecord.get(at)
    return bool(counted and counted.get(function)) and manager.exceed_rerecord_limit(at, function)
