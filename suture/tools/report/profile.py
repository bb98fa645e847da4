"""Counts and times what variants run: graphs, and the operations that Python runs at breaks.

A variant finds its graph, and what lets Python run something (`Shown`), in its own namespace; a
profile puts timed ones in their place. Time is exclusive: what a nested graph or compiling takes
is not counted for the break below which it happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from suture import _core, events
from suture.runtime.points import Variant


@dataclass(slots=True)
class Times:
    """How often something ran, and how long in all."""

    calls: int = 0
    seconds: float = 0.0


class Profile:
    """A probe (see messages.probe). `graphs` and `breaks` have one entry per variant, in the order
    in which variants were made."""

    def __init__(self) -> None:
        self.graphs: list[Times] = []
        self.breaks: list[Times] = []
        self._open = threading.local()

    def __call__(self, point: _core.Point, variant: Variant) -> None:
        graph, operation = Times(), Times()
        self.graphs.append(graph)
        self.breaks.append(operation)
        space = variant.function.__globals__
        if callable(space.get("graph")):
            space["graph"] = self._timed(space["graph"], graph)
        for name in [name for name, value in space.items() if type(value) is _core.SyntheticFrames]:
            space[name] = self._timed(space[name], operation)

    def exclude(self, event: events.Event) -> None:
        """A listener: compiling is nobody's time."""
        if isinstance(event, events.PhaseTimed):
            nested = self._stack()
            if nested:
                nested[-1] += event.seconds

    def _stack(self) -> list[float]:
        """For each timed call that is open in this thread, the time that is not its own."""
        found: list[float] | None = getattr(self._open, "stack", None)
        if found is None:
            found = self._open.stack = []
        return found

    def _timed(self, function: Callable[..., Any], times: Times) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            stack = self._stack()
            stack.append(0.0)
            began = perf_counter()
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                _core.strip_traceback(error, timed.__code__)  # the user's stack has no such frame
                raise
            finally:
                took = perf_counter() - began
                nested = stack.pop()
                times.calls += 1
                times.seconds += max(took - nested, 0.0)
                if stack:
                    stack[-1] += took

        return timed
