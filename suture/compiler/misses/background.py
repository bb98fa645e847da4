"""Compiling a graph in the background: who may be compiled so, and what the thread does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import torch.fx

from suture import config, errors, events
from suture.backends import Backend, background
from suture.compiler.capture import Capture
from suture.op_effects import operation_name
from suture.runtime.callers import Background
from suture.torch_private import thread_state

_log = logging.getLogger("suture.compiler.pipeline")


def may_compile_in_background(backend: Backend, capture: Capture) -> bool:
    """Whether the graph may run its operations until it is compiled, and be compiled beside the
    program. What compiling it switches for the whole process, and what it says about sizes, must
    not be needed."""
    graph = capture.graph
    if not config.background_compile or config.verify or not backend.compiles_beside():
        return False
    if capture.number_sources or graph.origins or capture.functions[0]:
        return False  # guards are made of what the backend assumes of them; modes see operations
    if graph.resets or graph.torch_function_off or thread_state.is_any_autocast_enabled():
        return False
    return not any(operation_name(n) == "lstm" for n in graph.graph.nodes)


def compiled_in_background(
    module: torch.fx.GraphModule, compile: Callable[[], Any], point: str, raises: bool
) -> Background:
    """The graph `module`, which becomes what `compile()` gives as soon as that is there. `compile`
    runs in another thread, on a copy. Where it fails, the graph runs as it is, or if it `raises`
    its next call does."""
    caller = Background(module.forward)
    settings = background.Settings()

    def job() -> None:
        began = time.perf_counter()
        try:
            with settings.entered():
                compiled = compile() if settings.still_hold() else None
                if compiled is None or not settings.still_hold():
                    _log.info("%s: settings of torch changed; its graph runs uncompiled", point)
                    return
            caller.ready(compiled)
        except errors.BackendFailed as failed:
            if raises:
                caller.failed(failed)
            else:
                _log.warning("%s: %s; the graph runs uncompiled", point, failed)
        except Exception as error:
            _log.warning("%s: compiling in the background failed", point, exc_info=error)
        finally:
            seconds = time.perf_counter() - began
            events.emit(events.PhaseTimed("background", seconds, point=point, at=began))

    background.submit(job)
    return caller
