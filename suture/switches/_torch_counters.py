"""torch._dynamo.utils.counters and torch._dynamo.explain's answer, made of what suture did.

Counters are written only where the program has imported them; what came before is added then.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from suture import events
from suture.torch_private import dynamo_reports

_waiting: Counter[tuple[str, str]] = Counter()


def listen() -> Callable[[], None]:
    """Count from now on; the result ends it."""
    return events.subscribe(_count, detail=False)


def _count(event: events.Event) -> None:
    match event:
        case events.Captured():
            _add("stats", "unique_graphs", 1)
            _add("stats", "calls_captured", event.ops)
        case events.Installed():
            _add("frames", "total", 1)
            _add("frames", "ok", 1)
        case events.Interpreted():
            _add("frames", "total", 1)
        case events.Broke():
            _add("graph_break", f"{event.type}: {event.message}", 1)
        case events.Recompiled():
            _add("recompiles", str(event.where), 1)


def _add(group: str, name: str, count: int) -> None:
    _waiting[group, name] += count
    counters = dynamo_reports.counters()
    if counters is None:
        return
    for waiting in list(_waiting):  # taken one by one: other threads add theirs meanwhile
        group, name = waiting
        counters[group][name] += _waiting.pop(waiting, 0)


def explained(run: Callable[[Any], Any]) -> Any:
    """torch's ExplainOutput of what suture makes of a call. `run` calls the function with this
    backend; guards are not torch's, and are left out."""
    graphs: list[Any] = []

    def keep(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    with events.recorded(events.Broke) as breaks:
        run(keep)
    reasons = [
        (
            f"{b.number} {b.message}",
            [traceback.FrameSummary(w.file, w.line, w.function) for w in reversed(b.stack)],
        )
        for b in breaks
        if isinstance(b, events.Broke)
    ]
    calls = ("call_function", "call_method", "call_module")
    ops = [[node.target for node in gm.graph.nodes if node.op in calls] for gm in graphs]
    return dynamo_reports.explain_output(graphs, reasons, ops)
