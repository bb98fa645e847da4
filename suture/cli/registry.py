"""suture break and suture registry: the numbered breaks and their pages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from suture.breaks import audit, catalog, export, page
from suture.breaks.registry import BreakType, Kind, Status
from suture.cli.common import FOUND, OK, fail, nearest, out, print_json


def add(commands: Any) -> None:
    shown = commands.add_parser("break", help="print the page of a break, such as GB0170")
    shown.add_argument("number")
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
    """Print one page."""
    entry = find(arguments.number)
    try:
        text = page.read(entry).text
    except page.PageError as error:
        fail(str(error))
    if arguments.json:
        record = next(one for one in export.export_plain() if one["number"] == entry.number)
        print_json({**record, "page": text})
        return OK
    body = text.split("---\n", 2)[-1]
    console = out()
    kind = f" · {entry.kind.value}" if entry.kind else ""
    console.print(Text(f"{entry.status.value}{kind} · {catalog.family_of(entry)}", style="dim"))
    console.print(Markdown(body, code_theme="ansi_dark", hyperlinks=False))
    return OK


def find(number: str) -> BreakType:
    """The entry of a number; digits alone will do. Ends the command if there is none."""
    wanted = f"GB{number:0>4}" if number.isdigit() else number
    try:
        return catalog.lookup(wanted)
    except KeyError:
        numbers = [entry.number for entry in catalog.entries()]
        near = nearest(wanted.upper(), numbers)
        types = {entry.type.lower(): entry.number for entry in catalog.entries()}
        near = near or [types[one] for one in nearest(number.lower(), types)]
        fail(f"no break has the number {number}", near)


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
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold magenta", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for entry in found:
        table.add_row(entry.number, entry.status.value, Text(entry.heading))
    console.print(table)
    console.print(f"{len(found)} of {len(catalog.entries())}", style="dim")
    return OK


def search(words: list[str], status: str | None, kind: str | None) -> list[BreakType]:
    """The entries whose number, type, explanation or hints hold every word."""
    wanted = [word.lower() for word in words]
    return [
        entry
        for entry in catalog.entries()
        if (status is None or entry.status.value == status)
        and (kind is None or (entry.kind is not None and entry.kind.value == kind))
        and all(word in _text(entry) for word in wanted)
    ]


def _text(entry: BreakType) -> str:
    parts = (entry.number, entry.type, entry.message, entry.explanation, *entry.hints)
    return " ".join(parts).lower()


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
