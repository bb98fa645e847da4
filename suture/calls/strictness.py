"""Blocks in which a graph break is an error. Nothing is switched while tracing: the tracer keeps
what the program says, and a variant brings it up to date where Python goes on."""

from __future__ import annotations

from typing import Any

from suture.calls.table import special
from suture.rules import breaks_are_errors, error_on_graph_break
from suture.variables import Constant


class Strictness:
    """What the program says about breaks at the instruction that runs now. `before` is what was
    said when the region began; None if nobody asked yet."""

    __slots__ = ("before", "known", "now")

    def __init__(self) -> None:
        self.before = self.now = breaks_are_errors()
        self.known = False


@special("switch_strictness")
def _switch(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    state = tx.strictness
    value = tx.constant_value(args[0])
    if not state.known:
        tx.guards.add(None, "torch_state", (breaks_are_errors, state.before, "breaks_are_errors"))
        state.known = True
    before, state.now = state.now, value
    tx.effects.note_change()
    return Constant(before)


@special("error_on_graph_break")
def _torchs(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """torch's own manager is read as ours."""
    return tx.tail_call(tx.wrap(error_on_graph_break, None), args, kwargs)
