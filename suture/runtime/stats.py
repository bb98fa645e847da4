"""Counts and records of what happened, for `suture.stats()`."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from suture import events
from suture.runtime.own_times import OwnTimes


@dataclass(slots=True)
class Record:
    """One kind of thing that happened at one location, and how often."""

    number: str
    function: str
    file: str
    line: int
    reason: str
    count: int = 1


@dataclass(slots=True)
class Stats:
    """`points`, `variants`, `graphs`, `ops` count; the lists hold records, first seen first.

    `interpreted` holds frames that finished in the plain interpreter other than by request,
    `left_to_python` functions that were not traced because they can meet no tensor; `plain` counts
    graphs whose operations are run one by one, because that is faster. `seconds` is what
    compiling took, by phase (`suture.events.PhaseTimed`), each without the phases inside it.
    """

    points: int = 0
    variants: int = 0
    graphs: int = 0
    ops: int = 0
    breaks: list[Record] = field(default_factory=list)
    recompilations: list[Record] = field(default_factory=list)
    interpreted: list[Record] = field(default_factory=list)
    plain: int = 0
    left_to_python: list[Record] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


class _Collector:
    """Listens to events from import on."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        self.graphs = self.ops = self.variants = self.plain = 0
        self.times, self.seconds = OwnTimes(), dict[str, float]()
        names = ("breaks", "recompilations", "interpreted", "left_to_python")
        self.tables: dict[str, dict[Any, Record]] = {name: {} for name in names}

    def __call__(self, event: events.Event) -> None:
        with self.lock:
            if isinstance(event, events.Captured):
                self.graphs += 1
                self.ops += event.ops
            elif isinstance(event, events.RunPlainly):
                self.plain += 1
            elif isinstance(event, events.PhaseTimed):
                known = self.seconds.get(event.phase, 0.0)
                self.seconds[event.phase] = known + self.times.own(event)
            elif isinstance(event, events.Installed):
                self.variants += 1
            elif isinstance(event, events.Broke):
                self._note("breaks", event.number, event.where, event.message)
            elif isinstance(event, events.Recompiled):
                self._note("recompilations", "", event.where, "; ".join(event.reasons[:1]))
            elif isinstance(event, events.Interpreted):
                self._note("interpreted", event.number, event.where, event.reason)
            elif isinstance(event, events.LeftToPython):
                self._note("left_to_python", "", event.where, "no tensor can be met")

    def _note(self, table: str, number: str, where: events.Where, reason: str) -> None:
        key = (number, where.file, where.line, where.function)
        found = self.tables[table].get(key)
        if found is None:
            self.tables[table][key] = Record(number, where.function, where.file, where.line, reason)
        else:
            found.count += 1


COLLECTOR = _Collector()
events.subscribe(COLLECTOR, detail=False)


def stats(points: int = 0) -> Stats:
    """What happened since the last reset."""
    with COLLECTOR.lock:
        kept = COLLECTOR.tables
        tables = {name: [replace(r) for r in table.values()] for name, table in kept.items()}
        made = Stats(points, COLLECTOR.variants, COLLECTOR.graphs, COLLECTOR.ops)
        made.plain, made.seconds = COLLECTOR.plain, dict(COLLECTOR.seconds)
        for name, records in tables.items():
            setattr(made, name, records)
        return made
