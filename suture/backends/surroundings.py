"""The state of torch and of the process while a backend compiles: set for it, and put back."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from suture.backends.configure import Backend
from suture.backends.request import TracedGraph
from suture.inference_mode import switch
from suture.torch_private import (
    bodies,
    compilers,
    cuda_graphs,
    input_asserts,
    kernel_libraries,
    vector_isa,
)


@contextmanager
def compiling_state(
    backend: Backend, graph: TracedGraph, compile_id: Any, in_background: bool, in_parts: bool
) -> Iterator[None]:
    """The state of torch and of the process in which a backend compiles a graph. `in_background`:
    the program runs in other threads meanwhile, so what belongs to the whole process is left alone,
    and the backward graph is compiled at once. `in_parts`: it may be called for parts of the graph,
    whose inputs no guard has seen."""
    aside, replays = graph.floats_aside, backend.is_inductor() and backend.records_cuda_graphs()
    tells_assumptions = graph.symbolic and not backend.is_eager()
    with (
        _LOCK,
        _thread_state_kept() if in_background else _global_state_kept(),
        compilers.surroundings(graph.fake_mode, compile_id),
        compilers.floats_aside(aside),
        compilers.backward_at_once(in_background),
        nullcontext() if in_background else bodies.known_bodies(graph.module),
        compilers.telling_assumptions(tells_assumptions, graph.fake_mode, not aside),
        cuda_graphs.short_replays(replays),
        vector_isa.first_alone() if backend.is_inductor() else nullcontext(),
        kernel_libraries.together() if backend.is_inductor() else nullcontext(),
        input_asserts.known_inputs(backend.is_inductor() and not in_parts),
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
