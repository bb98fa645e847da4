"""Blocks in which a graph break is an error. Nothing is switched while tracing: the trace keeps
what the program says, and a variant brings it up to date where Python continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant
from suture.rules import breaks_are_errors, error_on_graph_break


class Strictness:
    """What the program says about breaks at the instruction that runs now. `before` is what was
    said when the region began; None if nobody asked yet."""

    __slots__ = ("before", "known", "now")

    def __init__(self) -> None:
        self.before = self.now = breaks_are_errors()
        self.known = False


@handles("switch_strictness")
def _switch(
    trace: Trace, target: Callable[..., Any], args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    state = trace.modes.strictness
    value = abstract.constant_value(trace, args[0])
    if not state.known:
        trace.guards.add(
            None, "torch_state", (breaks_are_errors, state.before, "breaks_are_errors")
        )
        state.known = True
    before, state.now = state.now, value
    trace.effects.note_change()
    return Constant(before)


@handles("error_on_graph_break")
def _torchs(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """torch's own manager is read as ours."""
    return abstract.tail_call(trace, abstract.wrap(trace, error_on_graph_break, None), args, kwargs)
