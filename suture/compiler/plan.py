"""How a region is traced: one frozen `Plan` for each attempt, and why an attempt was not the last.

Tracing makes assumptions, and may find on the way, or when the backend gets the graph, that one of
them does not hold. Nothing is rolled back then: the attempt ends in a `Retry`, which holds the next
plan and the reason as text, and the region is traced again from its start. The loop that does this
is `pipeline.settle`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from suture.compiler.capture import Exit
from suture.runtime.branches import Position


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the next attempt ends: before instruction number `step` of the region, by `exit`.

    `assumed` are the guards under which an earlier attempt found that the program raises there: the
    next one does not look that far, and other values may not raise. `initializes`: the earlier
    attempt came to the first call of a lazy module.
    """

    step: int
    exit: Exit
    assumed: tuple[Any, ...] = ()
    initializes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one attempt assumes.

    dynamic         sizes and numbers are symbols: all of them (True), none (False), or those that
                    were seen to change (None)
    by_python       calls that Python runs, because what they make leaves the region
    unexpected      branches on data of which no outcome is expected any more
    expected        branches on data that went the same way in earlier calls, and how: one truth
                    for all decisions, or one for each in turn
    decisive        branches around bodies that do something where there are no rows too
    constants       paths of numbers that the backend cannot take as symbols
    floats_as_data  floats reach the backend as tensors of which it knows nothing
    without_data    numbers that come out of tensors stay outside of graphs
    from_zero       symbolic sizes may be 0 and 1 too
    inlined         the backend has failed on a graph with repeated layers: it gets them all
    uncompiled      the backend has failed on the graph, which runs as it is
    stop            where to end; None: at the first break, or the return
    """

    dynamic: bool | None = None
    by_python: frozenset[Position] = frozenset()
    unexpected: frozenset[Position] = frozenset()
    expected: Mapping[Position, tuple[bool, ...]] = field(default_factory=dict)
    decisive: frozenset[Position] = frozenset()
    constants: frozenset[str] = frozenset()
    floats_as_data: bool = False
    without_data: bool = False
    from_zero: bool = False
    inlined: bool = False
    uncompiled: bool = False
    stop: Stop | None = None

    def stopping(self, stop: Stop) -> Plan:
        """This plan, ending there."""
        return replace(self, stop=stop)

    def having(self, **changes: Any) -> Plan:
        """This plan with other assumptions. Under those the trace may go another way, so where it
        was to stop counts no more."""
        return replace(self, stop=None, **changes)

    def leaving(self, positions: frozenset[Position]) -> Plan:
        """This plan, with Python running the calls at `positions` too."""
        return self.having(by_python=self.by_python | positions)

    def refusing(self, paths: frozenset[str], as_data: bool = True) -> Plan:
        """The backend cannot take these numbers as symbols: first floats are handed to it as data,
        and if that was done already, or must not be done, they are constants."""
        if as_data and not self.floats_as_data:
            return self.having(floats_as_data=True)
        return self.having(constants=self.constants | paths)


@dataclass(frozen=True, slots=True)
class Retry:
    """A try that was not the last: the plan for the next one, and why, as a clause for people."""

    plan: Plan
    reason: str
