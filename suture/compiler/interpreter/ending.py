"""How a region ends: what the interpreter raises for it, and when an attempt is not the last."""

from __future__ import annotations

from typing import Any

from suture.compiler.capture import Again, Exit, Interpret, Return
from suture.compiler.core import Frame, Trace
from suture.compiler.graph import GraphBuilder
from suture.compiler.language.dropped import dropped_object
from suture.compiler.language.dropped_items import dropped_item
from suture.compiler.plan import Plan, Retry, Stop
from suture.compiler.torch.checks import expect_no_rows
from suture.compiler.torch.optional_bodies import OptionalBody, idle_where
from suture.compiler.torch.optional_histories import account_for_histories


class Restart(Exception):
    """Trace the region again and stop before instruction number `step`; `reason` says why."""

    def __init__(self, step: int, exit: Any, reason: str) -> None:
        super().__init__(step)
        self.step = step
        self.exit = exit
        self.reason = reason

    def retry(self, trace: Trace) -> Retry:
        """What the next try is to do."""
        assumed: tuple[Any, ...] = ()
        if isinstance(self.exit, Interpret) and self.exit.raises:
            assumed = all_guards(trace.guards, trace.graph, trace.numbers.number_sources)
        stop = Stop(self.step, self.exit, assumed, trace.region.initializes)
        return Retry(trace.region.plan.stopping(stop), self.reason)


class Replanned(Exception):
    """Trace the region again under another plan; `retry` has it, and says why."""

    def __init__(self, retry: Retry) -> None:
        super().__init__(retry.reason)
        self.retry = retry


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


def leave_bodies(trace: Trace, frame: Frame) -> None:
    """Where a body that the program may skip has come to its end, see that skipping it would have
    been the same; if not, its branch is one like others."""
    while trace.optional:
        body = trace.optional[-1]
        if body.frame is not frame or body.join != frame.ip:
            return
        condition = idle_where(trace, body)
        if condition is None:
            raise _branches(trace, body, "what is skipped without rows does something all the same")
        trace.optional.pop()
        body.forget()
        if not condition.is_constant():
            expect_no_rows(trace, condition, body)


def refuse_unfinished_body(trace: Trace) -> None:
    """The branch of a body that may be skipped is one like others if the region ends within it."""
    if trace.optional:
        raise _branches(trace, trace.optional[0], "what is skipped without rows does not end here")


def refuse_seen_bodies(trace: Trace) -> None:
    """The branches of bodies that may be skipped are ones like others if autograd would tell."""
    retry = account_for_histories(trace)
    if retry is not None:
        raise Replanned(retry)


def _branches(trace: Trace, body: OptionalBody, why: str) -> Replanned:
    plan = trace.region.plan
    return Replanned(Retry(plan.having(decisive=plan.decisive | {body.position}), why))


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
