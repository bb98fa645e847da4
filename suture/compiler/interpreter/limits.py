"""How much may be traced: iterations of a loop, and instructions for what was captured so far."""

from __future__ import annotations

import torch

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
    counted = trace.graph.ops if not trace.region.plain or computes_tensors(trace) else 0
    trace.progress.allowed = trace.progress.allowance + _PER_OPERATION * counted
    if trace.progress.work > trace.progress.allowed:
        trace.progress.limit_reached = Break(
            internal.TRACE_LIMIT, count=str(trace.progress.work), operations=str(trace.graph.ops)
        )


def computes_tensors(trace: Trace) -> bool:
    """Whether the graph has operations on tensors, and not on numbers alone, such as drawn ones."""
    return any(
        node.op in _CALLS and isinstance(node.meta.get("example_value"), torch.Tensor)
        for node in trace.graph.graph.nodes
    )


_CALLS = ("call_function", "call_method", "call_module")


def is_overworked(trace: Trace) -> bool:
    """Whether the region ended because tracing it took too much."""
    return (
        trace.progress.limit_reached is not None
        and trace.progress.limit_reached.type is internal.TRACE_LIMIT
    )
