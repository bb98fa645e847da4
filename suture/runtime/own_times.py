"""Times of phases without those of the phases inside them."""

from __future__ import annotations

from collections import deque

from suture import events

_KEPT = 1024  # phases of a thread that may be inside one that has not ended


class OwnTimes:
    """Takes phases in the order in which they end."""

    def __init__(self) -> None:
        self._ended: dict[int, deque[tuple[float, float]]] = {}

    def own(self, event: events.PhaseTimed) -> float:
        """The seconds of a phase that belong to no phase inside it, so that times add up."""
        ended = self._ended.setdefault(event.thread, deque(maxlen=_KEPT))
        inside = 0.0
        while ended and ended[-1][0] >= event.at:
            inside += ended.pop()[1]
        ended.append((event.at, event.seconds))
        return max(event.seconds - inside, 0.0)
