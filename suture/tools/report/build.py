"""Events in, report out."""

from __future__ import annotations

import linecache
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from suture import events
from suture.breaks.catalog import lookup
from suture.breaks.exception import Break
from suture.messages.source import line_of, printable
from suture.messages.texts import users
from suture.runtime.own_times import OwnTimes
from suture.tools.report.model import (
    BreakRow,
    Guard,
    Interpretation,
    Phase,
    Recompilation,
    Region,
    is_library,
)
from suture.tools.report.profile import Times
from suture.tools.report.report import Report
from suture.version import VERSION


@dataclass
class _Pending:
    """What is known of a region that is being compiled."""

    traced: events.Traced | None = None
    broke: int | None = None
    captured: events.Captured | None = None
    seconds: float = 0.0


@dataclass
class _Builder:
    """Takes events in the order they came; `began` is the zero of all times."""

    report: Report
    began: float
    pending: dict[int, _Pending] = field(default_factory=dict)
    break_keys: dict[Any, int] = field(default_factory=dict)
    others: dict[Any, Any] = field(default_factory=dict)
    times: OwnTimes = field(default_factory=OwnTimes)

    def take(self, event: events.Event) -> None:
        pending = self.pending.setdefault(event.thread, _Pending())
        match event:
            case events.PhaseTimed():
                if event.phase == "trace":
                    pending = self.pending[event.thread] = _Pending()
                seconds = self.times.own(event)
                pending.seconds += seconds
                start = event.at - self.began
                self.report.phases.append(Phase(event.phase, event.point, start, seconds))
            case events.Traced():
                pending.traced = event
            case events.Broke():
                pending.broke = self._break(event)
            case events.Captured():
                pending.captured = event
            case events.Installed():
                self._region(event, pending)
                self.pending.pop(event.thread)
            case events.Recompiled():
                reason = printable(event.reasons[0] if event.reasons else "")
                row = self._count(
                    self.report.recompilations, ("r", event.where), Recompilation(event.where, [])
                )
                row.reasons.append(reason)
            case events.Interpreted():
                made_i = Interpretation(event.where, printable(event.reason))
                self._count(self.report.interpreted, ("i", event.where, event.reason), made_i)
            case events.LeftToPython():
                made_l = Interpretation(event.where, "no tensor can be met, so Python runs it")
                self._count(self.report.left_to_python, ("l", event.where), made_l)

    def _count(self, rows: list[Any], key: Any, made: Any) -> Any:
        """One more of a kind: the row that counts it, which is `made` if there is none yet."""
        found = self.others.get(key)
        if found is not None:
            found.count += 1
            return found
        self.others[key] = made
        rows.append(made)
        return made

    def _break(self, event: events.Broke) -> int:
        at = event.where
        key = (event.number, at.file, at.line, at.column, at.end_column)
        found = self.break_keys.get(key)
        if found is not None:
            self.report.breaks[found].count += 1
            return found
        self.break_keys[key] = len(self.report.breaks)
        self.report.breaks.append(_row(event))
        return self.break_keys[key]

    def _region(self, event: events.Installed, pending: _Pending) -> None:
        region = Region(len(self.report.regions) + 1, event.where, variant=event.variant)
        region.code = event.code
        region.check_seconds = event.check_seconds
        locations = event.guard_lines or (("", 0),) * len(event.guards)
        region.guards = [Guard(text, *at) for text, at in zip(event.guards, locations)]
        region.break_index = pending.broke
        region.compile_seconds = pending.seconds
        if pending.traced is not None:
            traced = pending.traced
            region.lines = list(traced.lines)
            region.inlined = list(traced.inlined)
            region.instructions = traced.instructions
            region.exit = traced.exit
            region.where = _users_location(region)
        if pending.captured is not None:
            captured = pending.captured
            region.ops, region.inputs, region.outputs = (
                captured.ops, captured.inputs, captured.outputs,
            )  # fmt: skip
            region.graph_lines = list(captured.lines)
            region.nodes = list(captured.nodes)
            region.graph = captured.text
        self.report.regions.append(region)


def _users_location(region: Region) -> events.Where:
    """Where a region that starts in a library, as the call of a module does, starts in the user's
    own code; else in code of another package than torch. Code without a file is neither."""
    if not is_library(region.where.file):
        return region.where
    lines = [(file, line) for file, line in region.lines if linecache.getline(file, line)]
    own = [at for at in lines if not is_library(at[0])]
    others = [at for at in lines if "/site-packages/" in at[0] and _TORCH not in at[0]]
    for file, line in (own or others)[:1]:
        names = [name for name in region.inlined if not name.startswith("Module.")]
        return events.Where(names[0] if names else region.where.function, file, line)
    return region.where


_TORCH = "/site-packages/torch/"


def _row(event: events.Broke) -> BreakRow:
    entry = lookup(event.number)
    reason = Break(entry, **dict(event.fields))
    source = line_of(event.where.file, event.where.line) or ""
    return BreakRow(
        event.number,
        event.type,
        printable(event.message),
        event.where,
        list(users(event.stack)),
        printable(reason.explanation()),
        [printable(hint) for hint in reason.hints()],
        entry.kind.value if entry.kind else "",
        printable(source.strip())[:200],
        raised=event.raised,
        title=entry.title,
    )


def build(
    seen: Iterable[events.Event],
    function: str,
    *,
    began: float = 0.0,
    graphs: list[Times] | None = None,
    breaks: list[Times] | None = None,
) -> Report:
    """The report of what `seen` tells. `graphs` and `breaks` are a profile's, if there was one."""
    report = Report(function, versions=versions())
    builder = _Builder(report, began)
    for event in seen:
        builder.take(event)
    for region, times in zip(report.regions, graphs or ()):
        region.calls, region.seconds = times.calls, times.seconds
    for region, times in zip(report.regions, breaks or ()):
        if region.break_index is not None:
            row = report.breaks[region.break_index]
            row.hits += times.calls
            row.seconds += times.seconds
    report.sources = _sources(report)
    return report


def versions() -> dict[str, str]:
    """What a report was made with."""
    return {"suture": VERSION, "torch": torch.__version__, "python": platform.python_version()}


def _sources(report: Report) -> dict[str, list[str]]:
    """The lines of the user's own files that the report speaks of; those of libraries where there
    are no others. What cannot be read is left out."""
    last = dict(sorted(report.reached()))  # of each file the last line
    own = _readable({file: line for file, line in last.items() if not is_library(file)})
    return own or _readable(last)


def _readable(last: dict[str, int]) -> dict[str, list[str]]:
    """The lines of these files. A text that ends before a line that is spoken of is another one:
    since Python 3.13 that of `python -c` stands for all code that was made of strings."""
    found = {file: linecache.getlines(file) for file in last}
    return {
        file: [line.rstrip("\r\n") for line in lines]
        for file, lines in found.items()
        if len(lines) >= last[file] and lines
    }
