"""suture break and suture registry: the numbered breaks and their pages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from suture.breaks import audit, catalog, export, page
from suture.breaks.registry import BreakType, Kind, Status
from suture.breaks.search import Found
from suture.breaks.search import search as search_
from suture.tools.cli.common import FOUND, OK, err, fail, nearest, out, print_json


def add(commands: Any) -> None:
    shown = commands.add_parser(
        "break",
        help="print the page of a break, by number or by words",
        description="suture break GB0170, gb170 or 170 prints the page; suture break print tensor"
        " prints the page of the one that fits, or lists those that do, best first.",
    )
    shown.add_argument("words", nargs="+", metavar="NUMBER or WORD")
    shown.add_argument("--json", action="store_true")
    shown.set_defaults(do=show)
    made = commands.add_parser(
        "registry",
        help="list or search the breaks; export or check the registry",
        description="suture registry [WORD ...] lists the breaks whose texts hold all words;"
        " suture registry check looks for what is wrong; suture registry export writes JSON.",
    )
    made.add_argument("words", nargs="*", help="words to find, or 'check', or 'export'")
    made.add_argument("--status", choices=[one.value for one in Status])
    made.add_argument("--kind", choices=[one.value for one in Kind])
    made.add_argument("--format", choices=("plain", "dynamo"), default="plain", help="of an export")
    made.add_argument("-o", "--output", metavar="FILE", help="where an export goes")
    made.add_argument("--json", action="store_true")
    made.set_defaults(do=run)


def show(arguments: argparse.Namespace) -> int:
    """Print one page, or list what the words find; exit code 1 if there are several."""
    query = " ".join(arguments.words)
    found = find(query)
    for asked, taken in found.instead:
        err().print(f"no break speaks of {asked!r}; shown is {taken!r}", style="dim", markup=False)
    if len(found.entries) > 1:
        if arguments.json:
            numbers = {entry.number: i for i, entry in enumerate(found.entries)}
            records = [one for one in export.export_plain() if one["number"] in numbers]
            print_json(sorted(records, key=lambda one: numbers[str(one["number"])]))
        else:
            _list(found.entries[:_MOST])
            more = f"; {len(found.entries) - _MOST} more" if len(found.entries) > _MOST else ""
            out().print(f"suture break NUMBER prints a page{more}", style="dim")
        return OK
    (entry,) = found.entries
    try:
        text = page.read(entry).text
    except page.PageError as error:
        fail(str(error))
    if arguments.json:
        record = next(one for one in export.export_plain() if one["number"] == entry.number)
        print_json({**record, "page": text})
        return OK
    body = text.split("---\n", 2)[-1]
    if entry.title:
        name = f"TorchDynamo's name: {entry.type}" if entry.from_dynamo else entry.type
        body = body.replace(
            f"# {entry.number} {entry.type}", f"# {entry.number} {entry.title}\n\n{name}", 1
        )
    console = out()
    kind = f" · {entry.kind.value}" if entry.kind else ""
    console.print(Text(f"{entry.status.value}{kind} · {catalog.family_of(entry)}", style="dim"))
    console.print(Markdown(body, code_theme="ansi_dark", hyperlinks=False))
    return OK


_MOST = 12


def find(query: str) -> Found:
    """What a number or words find; ends the command if that is nothing."""
    found = search_(query)
    if found.entries:
        return found
    numbers = [entry.number for entry in catalog.entries()]
    digits = re.sub(r"\D", "", query)
    near = nearest(f"GB{digits:0>4}" if digits else query.upper(), numbers) if digits else []
    by_number = digits or not query
    fail(f"no break {f'has the number {query}' if by_number else f'speaks of {query!r}'}", near)


def _list(entries: Sequence[BreakType]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold magenta", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for entry in entries:
        table.add_row(entry.number, entry.status.value, Text(entry.heading))
    out().print(table)


def run(arguments: argparse.Namespace) -> int:
    """List, check or export."""
    if arguments.words == ["check"]:
        return check(arguments)
    if arguments.words == ["export"]:
        return write(arguments)
    found = search(arguments.words, arguments.status, arguments.kind)
    if arguments.json:
        numbers = {entry.number for entry in found}
        print_json([one for one in export.export_plain() if one["number"] in numbers])
        return OK
    console = out()
    if not found:
        console.print("no break matches")
        return FOUND
    _list(found)
    console.print(f"{len(found)} of {len(catalog.entries())}", style="dim")
    return OK


def search(words: list[str], status: str | None, kind: str | None) -> list[BreakType]:
    """The entries that have every word, best first; all of them without words."""
    found = search_(" ".join(words)).entries if words else catalog.entries()
    return [
        entry
        for entry in found
        if (status is None or entry.status.value == status)
        and (kind is None or (entry.kind is not None and entry.kind.value == kind))
    ]


def check(arguments: argparse.Namespace) -> int:
    """Exit code 1 if anything is wrong with the registry."""
    problems = audit.check()
    if arguments.json:
        print_json(problems)
    else:
        for problem in problems:
            print(problem)
        if not problems:
            print(f"{len(catalog.entries())} breaks, nothing wrong")
    return FOUND if problems else OK


def write(arguments: argparse.Namespace) -> int:
    """The registry as JSON, to a file or to standard output."""
    data = export.export_dynamo() if arguments.format == "dynamo" else export.export_plain()
    text = export.as_json(data)
    if arguments.output:
        Path(arguments.output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return OK
