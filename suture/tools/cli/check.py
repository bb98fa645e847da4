"""suture check: what will break in a source tree, without running it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.text import Text

from suture.events import Where
from suture.messages.source import excerpt, line_of, printable
from suture.messages.texts import shorten
from suture.tools.check import Finding, check_paths
from suture.tools.check.sarif import sarif
from suture.tools.cli.common import FOUND, OK, err, fail, out, print_json


def add(commands: Any) -> None:
    made = commands.add_parser(
        "check",
        help="find what will break in a source tree, without running it",
        description="Looks at functions that the text shows to be compiled: decorated with or"
        " passed to torch.compile, forward() of modules, and what they call in the same file."
        " A comment `# suture: ignore[GB0170]` on the line silences a number, and"
        " `# suture: ignore` all of them.",
    )
    made.add_argument("paths", nargs="+", metavar="PATH")
    made.add_argument("--all", action="store_true", help="look at every function")
    made.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    made.add_argument("--json", action="store_const", dest="format", const="json")
    made.add_argument("-o", "--output", metavar="FILE", help="write to a file")
    made.add_argument("--exit-zero", action="store_true", help="exit code 0 also with findings")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 with findings, 2 if a file that was named cannot be read."""
    paths = [Path(one) for one in arguments.paths]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        fail(f"there is no file or folder {', '.join(missing)}")
    findings, unreadable = check_paths(paths, arguments.all)
    named = [one for one in unreadable if Path(one.file) in paths]
    if named and len(paths) == len(named):
        fail("\n".join(f"{one.file}:{one.line}: {printable(one.reason)}" for one in named))
    if arguments.format == "text" and not arguments.output:
        _show(findings)
        for one in unreadable:
            err().print(Text(f"{one.file}:{one.line}: {printable(one.reason)}", style="yellow"))
    else:
        _write(arguments, findings, unreadable)
    return FOUND if findings and not arguments.exit_zero else OK


def _write(arguments: argparse.Namespace, findings: list[Finding], unreadable: Any) -> None:
    if arguments.format == "sarif":
        text = sarif(findings, unreadable)
    elif arguments.format == "json":
        if not arguments.output:
            print_json([one.as_dict() for one in findings])
            return
        text = json.dumps([one.as_dict() for one in findings], indent=2) + "\n"
    else:
        text = "".join(f"{_head(one)}\n" for one in findings)
    if arguments.output:
        Path(arguments.output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def _head(one: Finding) -> str:
    location = f"{shorten(one.file)}:{one.line}:{one.column + 1}"
    return f"{location}: {one.number} {printable(one.message)}"


def _show(findings: list[Finding]) -> None:
    console = out()
    for one in findings:
        location, _, rest = _head(one).partition(": ")
        text = Text(location, style="bold")
        text.append(": ")
        text.append(one.number, style="bold magenta")
        text.append(rest.removeprefix(one.number))
        console.print(text, soft_wrap=True)
        where = Where(one.function, one.file, one.line, one.end_line, *_bytes(one))
        for i, line in enumerate(excerpt(where)):
            console.print(Text(f"    {line}", style="red" if i else "dim"), soft_wrap=True)
        console.print(Text(f"    try: {one.hint}", style="green"), soft_wrap=True)
    if findings:
        files = len({one.file for one in findings})
        plural = "s" * (len(findings) != 1)
        console.print(f"{len(findings)} finding{plural} in {files} file{'s' * (files != 1)}")
    else:
        console.print("nothing found", style="green")


def _bytes(one: Finding) -> tuple[int, int]:
    """Columns as `Where` counts them: in bytes of UTF-8."""
    text = line_of(one.file, one.line) or ""
    return len(text[: one.column].encode()), len(text[: one.end_column].encode())
