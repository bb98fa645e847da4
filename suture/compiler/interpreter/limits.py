"""How much may be traced: iterations of a loop, and instructions for what was captured so far."""

from __future__ import annotations

from suture import config
from suture.breaks import Break, internal
from suture.compiler.core import Frame, Trace

_PER_OPERATION = 500  # instructions that one operation of the graph accounts for


def turned(trace: Trace, frame: Frame) -> None:
    """A jump back: a loop that takes too many turns is left at the next chance."""
    key = (id(frame), frame.ip)
    turns = trace.progress.jumps_back[key] = trace.progress.jumps_back.get(key, 0) + 1
    if turns > config.unroll_limit:
        trace.progress.limit_reached = Break(internal.UNROLL_LIMIT, count=str(config.unroll_limit))


def weigh(trace: Trace) -> None:
    """Much has been traced: more than what was captured is worth?"""
    trace.progress.allowed = trace.progress.allowance + _PER_OPERATION * trace.graph.ops
    if trace.progress.work > trace.progress.allowed:
        trace.progress.limit_reached = Break(
            internal.TRACE_LIMIT, count=str(trace.progress.work), operations=str(trace.graph.ops)
        )


def is_overworked(trace: Trace) -> bool:
    """Whether the region ended because tracing it took too much."""
    return (
        trace.progress.limit_reached is not None
        and trace.progress.limit_reached.type is internal.TRACE_LIMIT
    )
