"""TORCH_TRACE: what suture does, in torch's structured trace, so that tlparse reads it. Run on
torch 2.13 and tlparse 0.4 only.

A compilation of a point has an id, (number of the point, how many variants it had), as a frame has
in torch. It is set for the length of the compilation, so what the backend writes carries it too.
What is written: dynamo_start, dynamo_output_graph, dynamo_guards and their text, the reason of a
break and of a recompilation as artifacts, phases as chromium_event, and compilation_metrics.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
import traceback
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from suture import events
from suture.torch_private.structured_trace import compile_context, intern, write

_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_next = itertools.count()
_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep


@dataclass
class _Metrics:
    """What one compilation came to."""

    ops: int = 0
    inputs: int = 0
    guards: int = 0
    backend: float = 0.0
    breaks: list[str] = field(default_factory=list)
    variants: int = 0
    failed: str = ""
    recompiled: events.Recompiled | None = None


@contextlib.contextmanager
def compilation(point: Any, variants: int) -> Iterator[None]:
    """One compilation of a point that has so many variants."""
    number = _numbers.setdefault(point, next(_next))
    metrics = _Metrics()
    began = time.time()
    function, file, line = _location(point)
    with compile_context(number, variants):
        write("dynamo_start", {"stack": _stack(function, file, line)})
        unsubscribe = events.subscribe(_Writer(metrics))
        try:
            yield
        except BaseException as error:
            metrics.failed = f"{type(error).__name__}: {error}"
            raise
        finally:
            unsubscribe()
            write("compilation_metrics", _record(metrics, point, began, variants))


def _location(point: Any) -> tuple[str, str, int]:
    code = point.data.chain[-1].code
    return code.co_qualname, code.co_filename, code.co_firstlineno


def _stack(function: str, file: str, line: int) -> list[dict[str, Any]]:
    """The program's frames that led here, without suture's, and the function itself."""
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(_OWN)]
    locations = [(f.name, f.filename, f.lineno or 0) for f in frames] + [(function, file, line)]
    return [{"name": n, "filename": intern(f), "line": at} for n, f, at in locations]


class _Writer:
    """Hears what happens during one compilation, and writes it."""

    def __init__(self, metrics: _Metrics) -> None:
        self.metrics = metrics

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Captured():
                self.metrics.ops += event.ops
                self.metrics.inputs += event.inputs
                write("dynamo_output_graph", {"sizes": {}}, event.text)
            case events.BackendCompiled():
                self.metrics.backend += event.seconds
            case events.Installed():
                self.metrics.guards = len(event.guards)
                write("dynamo_guards", {}, [{"code": text} for text in event.guards])
                latency = f"Guard latency = {event.check_seconds * 1e6:.2f} us"
                write("dynamo_cpp_guards_str", {}, "\n".join([*event.guards, latency]))
                _artifact("suture_variant", event.code)
            case events.Broke():
                self.metrics.breaks.append(f"{event.number} {event.message}")
                stack = "\n".join(f"  {location}" for location in event.stack)
                reason = f"{event.number} {event.type}: {event.message}\n{stack}"
                _artifact("dynamo_graph_break_reason", reason)
            case events.Recompiled():
                self.metrics.recompiled = event
                _artifact("recompile_reasons", "\n".join(event.reasons))
            case events.PhaseTimed():
                self._phase(event)

    def _phase(self, event: events.PhaseTimed) -> None:
        ago = time.perf_counter() - event.at
        bar = {
            "name": event.phase, "ph": "X", "cat": "dynamo_timed", "pid": os.getpid(), "tid": 0,
            "ts": (time.time() - ago) * 1e6, "dur": event.seconds * 1e6,
            "args": {"point": event.point},
        }  # fmt: skip
        write("chromium_event", {}, bar)


def _record(metrics: _Metrics, point: Any, began: float, variants: int) -> dict[str, Any]:
    function, file, line = _location(point)
    took = time.time() - began
    again = metrics.recompiled
    return {
        "co_name": function,
        "co_filename": file,
        "co_firstlineno": line,
        "cache_size": variants,
        "accumulated_cache_size": variants,
        "guard_count": metrics.guards,
        "graph_op_count": metrics.ops,
        "graph_input_count": metrics.inputs,
        "start_time": began,
        "entire_frame_compile_time_s": took,
        "backend_compile_time_s": metrics.backend,
        "fail_type": metrics.failed.partition(":")[0] or None,
        "fail_reason": metrics.failed or None,
        "restart_reasons": metrics.breaks,
        "recompile_reason": again.reasons[0] if again is not None and again.reasons else None,
        "recompile_user_contexts": list(again.contexts) if again is not None else None,
        "dynamo_time_before_restart_s": 0.0,
    }


def _artifact(name: str, text: str) -> None:
    write("artifact", {"name": name, "encoding": "string"}, text)
