"""A report as one HTML file that needs nothing else: no network, no script to be useful."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from suture.messages.source import excerpt
from suture.tools.report import drawing, highlight
from suture.tools.report.model import BreakRow, Record, is_library
from suture.tools.report.text import at, count, duration

COLOURS = 8
_CONTEXT = 3
_MOST_CARDS = 12
_TICKS = re.compile(r"`([^`]+)`")


@dataclass(slots=True)
class Line:
    """A line of source: which regions walked over it, which have an operation there."""

    number: int
    html: Markup
    regions: list[int] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    breaks: list[BreakRow] = field(default_factory=list)
    gap: bool = False


def templates(package: str) -> Environment:
    """The templates of a package; everything put into them is escaped."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def environment() -> Environment:
    """The templates of this room, with what they use."""
    made = templates("suture.tools.report")
    made.filters.update(
        duration=duration,
        at=at,
        code=highlight.block,
        colour=lambda i: (i - 1) % COLOURS,
        ticks=ticks,
    )
    made.globals.update(count=count)
    return made


def ticks(text: str) -> Markup:
    """A sentence with its `code` marked as such; everything else is escaped."""
    return Markup(_TICKS.sub(r"<code>\1</code>", str(escape(text))))


def render(report: Record) -> str:
    """The whole page."""
    return environment().get_template("report.html.j2").render(**_context(report))


def fragment(report: Record) -> str:
    """The page inside a frame of its own, for notebooks: its styles meet no others."""
    return (
        f'<iframe srcdoc="{escape(render(report))}" title="report of {escape(report.function)}"'
        ' style="width:100%;height:640px;border:1px solid #8886;border-radius:6px"></iframe>'
    )


def _context(report: Record) -> dict[str, Any]:
    phases = list(report.phase_seconds())
    running: list[tuple[str, float]] = [
        *((f"graph {r.index}", r.seconds) for r in report.regions if r.graph and r.seconds),
        *((f"{row.number} {at(row.where)}", row.seconds) for row in report.breaks if row.seconds),
        ("guards, dispatch and Python", report.other_seconds),
    ]
    running = _largest(running, 12)
    costly = report.by_cost()
    return {
        "report": report,
        "files": _files(report),
        "first": costly[:_MOST_CARDS],
        "others": costly[_MOST_CARDS:],
        "excerpt": excerpt,
        "drawings": {
            r.index: drawing.graph(r.nodes, f"graph {r.index}") for r in report.regions if r.nodes
        },
        "timeline": drawing.timeline(report.phases, phases),
        "phases": report.phase_seconds(),
        "running": running,
        "bar": drawing.share_bar(running, "time of calls"),
        "is_library": is_library,
    }


def _largest(parts: list[tuple[str, float]], most: int) -> list[tuple[str, float]]:
    """The largest parts first; what is left is one part more, so that they add up."""
    parts = sorted(parts, key=lambda part: -part[1])
    rest = parts[most:]
    if not rest:
        return parts
    return [*parts[:most], (f"{len(rest)} more", sum(seconds for _, seconds in rest))]


def _files(report: Record) -> dict[str, list[Line]]:
    """The source of each file around the lines that took part, in the order of the report."""
    return {file: _file(report, file, source) for file, source in report.sources.items()}


def _file(report: Record, file: str, source: list[str]) -> list[Line]:
    walked = _by_line(file, ((r.index, r.lines) for r in report.regions))
    operations = _by_line(file, ((r.index, r.graph_lines) for r in report.regions))
    broke: dict[int, list[BreakRow]] = {}
    for row in report.breaks:
        if row.where.file == file:
            broke.setdefault(row.where.line, []).append(row)
    wanted = _around({*walked, *broke}, len(source))
    html = highlight.lines(source)
    out: list[Line] = []
    for number in wanted:
        gap = bool(out) and out[-1].number != number - 1
        out.append(
            Line(
                number,
                html[number - 1],
                walked.get(number, []),
                operations.get(number, []),
                broke.get(number, []),
                gap,
            )
        )
    return out


def _by_line(file: str, regions: Any) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, locations in regions:
        for name, line in locations:
            if name == file:
                found.setdefault(line, []).append(index)
    return found


def _around(lines: set[int], last: int) -> list[int]:
    near = {n for line in lines for n in range(line - _CONTEXT, line + _CONTEXT + 1)}
    return sorted(n for n in near if 1 <= n <= last)
