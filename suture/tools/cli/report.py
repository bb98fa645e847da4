"""suture report: reports that were saved, of one process or of the ranks of a group."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from suture.tools.cli.common import FOUND, OK, fail, out, print_json
from suture.tools.cli.diff import read
from suture.tools.report.ranks import merge


def add(commands: Any) -> None:
    made = commands.add_parser(
        "report",
        help="show a saved report, or where the reports of several ranks differ",
        description="Shows a report saved as JSON. Several files, or a folder of them, are the"
        " ranks of a group: a table of ranks, and where they differ. Exit code 1 if they do.",
    )
    made.add_argument("files", nargs="+", help="reports saved as JSON, or a folder of them")
    made.add_argument("--json", action="store_true")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    found = [read(str(path)) for path in _paths(arguments.files)]
    if len(found) == 1:
        if arguments.json:
            print_json(found[0].as_dict())
        else:
            out().print(found[0].__rich__())
        return OK
    try:
        merged = merge(found)
    except ValueError as error:
        fail(str(error))
    if arguments.json:
        print_json(merged.as_dict())
    else:
        out().print(merged.__rich__())
    return FOUND if merged.differences else OK


def _paths(names: list[str]) -> list[Path]:
    paths: list[Path] = []
    for name in names:
        path = Path(name)
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            fail(f"there is no report in {name}")
        paths += inside
    return paths
