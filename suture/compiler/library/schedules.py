"""Learning rate schedules: Python's arithmetic on numbers that change at each step.

A schedule is traced into, so that a step of training is one region. Most of them compute the same
way at every step, or a few ways. One that decides anew each time (a table of milestones, a lookup
in a list) would have the whole step compiled for each of its numbers: Python runs it, at once where
that is known of its class, else after a few of them.
"""

from __future__ import annotations

from typing import Any

import torch

from suture import rules
from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles

_MOST_STEPS = 4  # at which the regions of a point were compiled with the schedule in them


@handles("schedule")
def _step(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    if args and (_has_milestones(args[0]) or _seen(trace, args[0]) > _MOST_STEPS):
        raise Break(
            calls.PYTHON_FUNCTION_RUN,
            module=target.__module__,
            qualname=target.__qualname__,
            reason=rules.lookup(target).reason,
        )
    return abstract.inline(trace, abstract.wrap(trace, target, None), args, kwargs)


def _has_milestones(schedule: Value) -> bool:
    return issubclass(schedule.python_type(), torch.optim.lr_scheduler.MultiStepLR)


def _seen(trace: Trace, schedule: Value) -> int:
    """At how many steps of the schedule regions of this point were traced, this one included."""
    try:
        at = getattr(schedule.real(), "last_epoch", None)
    except LookupError:
        return 0  # the program has just made it
    count: int = trace.region.history.steps_of(schedule.describe(), at)
    return count
