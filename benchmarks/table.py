"""Benchmark tables: printed with rich, and kept in docs/benchmarks.md between two marks."""

from __future__ import annotations

import datetime
import pathlib
import platform
from typing import Any

import rich
import rich.table
import torch

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def show(title: str, head: list[str], rows: list[list[str]]) -> None:
    """The table on the terminal."""
    table = rich.table.Table(title=title)
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    rich.print(table)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """The table as the page has it, with the versions it was made with, and the day."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    made = f"{versions}, {datetime.date.today()}; compare only as ratios."
    return "\n".join([*lines, "", made])


def write(section: str, text: str) -> None:
    """Put `text` between the marks of `section` on the page."""
    start, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    page = PAGE.read_text()
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{PAGE} has no place for {section}")
    PAGE.write_text(f"{before}{start}\n{text}\n{end}{after}")


def finish(options: Any, section: str, head: list[str], rows: list[list[str]]) -> None:
    """Show the table, and write it to the page if asked to."""
    show(section, head, rows)
    if options.write:
        write(section, markdown(head, rows))
