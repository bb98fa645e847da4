"""A report in a terminal: what broke first, then the regions, then where the time went."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suture.events import Where
from suture.messages.source import excerpt
from suture.messages.texts import shorten
from suture.tools.report.model import BreakRow, Record, Region

_PLAIN_WIDTH = 100


def plain(report: Record) -> str:
    """The report without colours."""
    out = io.StringIO()
    Console(file=out, width=_PLAIN_WIDTH, color_system=None).print(renderable(report))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def renderable(report: Record) -> Group:
    """The report as something rich prints."""
    parts: list[Any] = [head(report)]
    if report.error:
        parts.append(Text(f"\n  {report.ended}  {report.error.splitlines()[-1]}", style="red"))
    if report.note:
        parts.append(Text(f"\n  {report.note}", style="yellow"))
    if report.breaks:
        parts += [_title("Breaks"), *_breaks(report)]
    if report.regions:
        parts += [_title("Regions"), _regions(report)]
    if report.recompilations:
        parts += [_title("Recompilations"), *_recompilations(report)]
    if report.interpreted:
        parts.append(_title("Left to the interpreter"))
        parts += [
            Text(f"  {at(one.where)}{times(one.count)}  {one.reason}") for one in report.interpreted
        ]
    if report.left_to_python:
        parts.append(_title("Left to Python"))
        parts += [Text(f"  {at(one.where)}  {one.reason}") for one in report.left_to_python]
    if report.phases or report.calls:
        parts += [_title("Time"), Padding(_times(report), (0, 0, 0, 2))]
    return Group(*parts)


def head(report: Record) -> Text:
    """One line of what there is, and how much of it was captured."""
    text = Text()
    text.append(report.function, style="bold")
    if report.file:
        text.append(f"  {shorten(report.file)}:{report.line}", style="dim")
    lines = len(report.reached())
    text.append("\n  ")
    counts = [
        count(report.graphs, "graph"),
        count(report.ops, "operation"),
        count(len(report.breaks), "break"),
        count(report.recompiled, "recompilation"),
    ]
    text.append(" · ".join(counts), style="")
    if lines:
        share = report.captured_fraction()
        style = "green" if share == 1 else "yellow"
        text.append(f" · {share:.0%} of {count(lines, 'line')} captured", style=style)
    return text


def count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def times(n: int) -> str:
    return f"  ×{n}" if n > 1 else ""


def at(where: Where) -> str:
    return f"{shorten(where.file)}:{where.line}"


def duration(seconds: float) -> str:
    """A time with the unit that fits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _breaks(report: Record) -> Iterable[Padding]:
    for row in report.by_cost():
        yield from break_lines(row)


def break_lines(row: BreakRow) -> Iterable[Padding]:
    """A break on a few lines: number, location, source with a caret, reason, first hint."""
    text = Text()
    text.append(row.number, style="bold red" if row.raised else "bold magenta")
    text.append(f" {row.heading}", style="bold")
    text.append(f"  {at(row.where)} in {row.where.function}", style="cyan")
    text.append(_cost(row), style="dim")
    yield Padding(text, (0, 0, 0, 2))
    for i, line in enumerate(excerpt(row.where)):
        shown = Text(line, style="red" if i else "", no_wrap=True, overflow="ellipsis")
        yield Padding(shown, (0, 0, 0, 9))
    for where in row.stack[1:]:
        called = Text(f"called from {at(where)} in {where.function}", style="dim")
        yield Padding(called, (0, 0, 0, 4))
    yield Padding(Text(row.message), (0, 0, 0, 4))
    if row.hints:
        yield Padding(Text(f"try: {row.hints[0]}", style="green"), (0, 0, 0, 4))


def _cost(row: BreakRow) -> str:
    if row.raised:
        return "  raised"
    parts = [f"ran {row.hits}×"] if row.hits else []
    if row.count > 1:
        parts.append(f"in {row.count} variants")
    if row.seconds:
        parts.append(duration(row.seconds))
    return f"  ({', '.join(parts)})" if parts else ""


def _regions(report: Record) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("  ", justify="right")
    table.add_column("starts at")
    table.add_column("lines", justify="right")
    for name in ("ops", "guards", "check", "calls", "graph time"):
        table.add_column(name, justify="right")
    table.add_column("ends with")
    for region in report.regions:
        table.add_row(*_region_row(report, region))
    return table


def _region_row(report: Record, region: Region) -> list[str | Text]:
    ends: str | Text = region.exit
    if region.break_index is not None:
        ends = Text(report.breaks[region.break_index].number, style="magenta")
    elif region.exit == "break":
        ends = "next turn"
    return [
        str(region.index),
        Text(at(region.where).rpartition("/")[2]),
        str(len(region.lines)),
        str(region.ops) if region.graph else "-",
        str(len(region.guards)),
        duration(region.check_seconds) if region.check_seconds else "-",
        str(region.calls) if region.graph else "-",
        duration(region.seconds) if region.calls else "-",
        ends,
    ]


def _recompilations(report: Record) -> Iterable[Text]:
    for row in report.recompilations:
        text = Text("  ")
        text.append(f"{at(row.where)} in {row.where.function}", style="cyan")
        text.append(times(row.count), style="dim")
        for reason, n in Counter(row.reasons).items():
            text.append(f"\n    {reason}{times(n)}")
        yield text


def _times(report: Record) -> Text:
    text = Text()
    phases = report.phase_seconds()
    shown = ", ".join(f"{name} {duration(seconds)}" for name, seconds in phases.items())
    text.append(f"compiling  {duration(report.compile_seconds)}")
    text.append(f"  ({shown})" if shown else "")
    if report.calls:
        calls = count(report.calls, "call")
        text.append(
            f"\nrunning    {duration(report.call_seconds - report.compile_seconds)} in {calls}"
            f"  (graphs {duration(report.graph_seconds)}, breaks {duration(report.break_seconds)},"
            f" the rest {duration(report.other_seconds)})"
        )
    return text
