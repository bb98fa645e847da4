"""suture diff: what changed between two reports."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from suture.tools.cli.common import FOUND, OK, fail, out, print_json
from suture.tools.report import Report, ReportError, load
from suture.tools.report.diff import diff


def add(commands: Any) -> None:
    made = commands.add_parser(
        "diff",
        help="compare two reports: breaks gone and new, graphs, guards",
        description="Compares reports saved as JSON. Exit code 1 if breaks, recompilations or"
        " interpreted frames are new.",
    )
    made.add_argument("before", help="a report saved as JSON")
    made.add_argument("after", help="another one")
    made.add_argument("--json", action="store_true")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    found = diff(read(arguments.before), read(arguments.after))
    if arguments.json:
        print_json(found.as_dict())
    else:
        out().print(found.__rich__())
    return FOUND if found.worse() else OK


def read(path: str) -> Report:
    """The report in a file; ends the command if there is none."""
    try:
        return load(Path(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{path} cannot be read: {error}")
    except ReportError as error:
        fail(str(error))
