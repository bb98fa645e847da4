"""suture minify: the script of a graph that fails, made smaller."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from suture.errors import UserError
from suture.minify import minify
from suture.tools.cli.common import OK, fail, out


def add(commands: Any) -> None:
    made = commands.add_parser(
        "minify",
        help="make the script of a graph that fails smaller, as long as it fails",
        description="Takes a graph_*.py that suture.config.repro_dir collected, removes operations"
        " (torch's minifier) and shrinks inputs while the error stays the same, and writes a script"
        " that still fails.",
    )
    made.add_argument("script")
    made.add_argument("-o", "--output", metavar="FILE", help="default: SCRIPT_min.py next to it")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the smaller script and say what is left."""
    path = Path(arguments.script)
    if not path.is_file():
        fail(f"there is no file {path}")
    try:
        found = minify(path)
    except UserError as error:
        fail(str(error))
    target = Path(arguments.output or path.with_name(f"{path.stem}_min.py"))
    target.write_text(found.script)
    out().print(
        f"{target}: {found.after} of {found.before} operations, still {type(found.error).__name__}",
        markup=False,
        soft_wrap=True,
    )
    return OK
