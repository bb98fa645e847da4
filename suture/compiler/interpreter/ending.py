"""How a region ends: what the interpreter raises for it, and when an attempt is not the last."""

from __future__ import annotations

from typing import Any

from suture.compiler.capture import Again, Exit, Return
from suture.compiler.core import Trace
from suture.compiler.graph import GraphBuilder
from suture.compiler.language.dropped import dropped_object
from suture.compiler.language.dropped_items import dropped_item
from suture.compiler.plan import Plan, Retry


class Restart(Exception):
    """Trace the region again and stop before instruction number `step`; `reason` says why."""

    def __init__(self, step: int, exit: Any, reason: str) -> None:
        super().__init__(step)
        self.step = step
        self.exit = exit
        self.reason = reason


class Uncaught(Exception):
    """The program raises here and no frame of the region handles it."""


class Stopped(Exception):
    """The step was reached at which the plan says to stop."""

    def __init__(self, exit: Any) -> None:
        super().__init__()
        self.exit = exit


def stop_at_drop(trace: Trace) -> None:
    """End the region if the last instruction has dropped an object at whose end something happens:
    the variant holds what it was given until it is left."""
    reason = dropped_item(trace) if trace.effects.touched else None
    if reason is None and trace.finalized.in_state:
        reason = dropped_object(trace)
    if reason is not None:
        raise Stopped(Again(reason))


def needs_sizes(plan: Plan, exit: Exit) -> Retry | None:
    """A region that broke while sizes of 0 and 1 were taken for any size is traced without that."""
    if not plan.from_zero or isinstance(exit, Return):
        return None
    return Retry(plan.having(from_zero=False), "a break comes up where sizes may be 0 and 1")


def all_guards(guards: Any, graph: GraphBuilder, sources: list[Any]) -> tuple[Any, ...]:
    """What a trace has looked at so far, decisions on symbols included."""
    from suture.compiler.guards import shapes

    shapes.add(guards, graph, sources)
    return tuple(guards.entries)
