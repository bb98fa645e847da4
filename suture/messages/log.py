"""Events as log records: one logger per topic (see suture.logs), nothing unless it is asked for.

A break that comes again at the same location is reported once in full and then by its count, at the
tenth, hundredth, ... time. Frames that end up in the interpreter are a warning, once per location.
"""

from __future__ import annotations

import logging
import threading

from suture import events
from suture.breaks import internal
from suture.compiler.guards.reasons import once_each
from suture.messages import guards

_LOGGERS = {
    name: logging.getLogger(f"suture.{name}")
    for name in ("recompiles", "guards", "graphs", "code", "breaks", "retries")
}


class Teller:
    """Listens to events and tells them to the loggers of their topics."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget what was told: the next break is told in full again."""
        self._counts: dict[object, int] = {}

    def again(self, key: object) -> int:
        """How often `key` was here before."""
        with self._lock:
            count = self._counts.get(key, 0)
            self._counts[key] = count + 1
        return count

    def wants_detail(self) -> bool:
        return any(
            _LOGGERS[name].isEnabledFor(logging.INFO) for name in ("guards", "graphs", "code")
        )

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Captured():
                self._tell("graphs", f"{event.where}: {event.ops} operations\n{event.text}")
            case events.Installed():
                tree = guards.tree(event.guards, event.guard_lines, event.check_seconds)
                self._tell("guards", f"{event.variant}: {tree}")
                self._tell("code", f"{event.variant} ({event.where})\n{event.code}")
            case events.Recompiled():
                reasons = "".join(f"\n  {reason}" for reason in once_each(event.reasons))
                count = f"{event.variants} variant{'s' * (event.variants != 1)} did not fit"
                said = "".join(f"\n  the program says: {context}" for context in event.contexts)
                self._tell("recompiles", f"{event.where}: recompiling, {count}{reasons}{said}")
            case events.Retried():
                self._tell("retries", f"{event.where}: try {event.tries} failed: {event.reason}")
            case events.Interpreted():
                self._interpreted(event)

    def _tell(self, topic: str, text: str) -> None:
        logger = _LOGGERS[topic]
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", text)

    def _interpreted(self, event: events.Interpreted) -> None:
        if event.number == internal.INTERNAL_FAULT.number:
            return  # told, with its traceback, where it was met
        if self.again((event.number, event.where.file, event.where.line)) == 0:
            _LOGGERS["recompiles"].warning("%s: %s", event.where, event.reason)


TELLER = Teller()
events.subscribe(TELLER, detail=TELLER.wants_detail)
