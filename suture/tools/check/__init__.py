"""The static look at a source tree: what will break, found without running anything.

No code of the tree is executed or imported. What is reported is in functions that the text
shows to be compiled (see scope); the numbers are those that compiling would report.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from suture.tools.check import scope
from suture.tools.check.finding import Finding, Unreadable, ignored
from suture.tools.check.visitor import walk

_SKIPPED = {
    "__pycache__",
    "node_modules",
    "build",
    "dist",
    ".git",
    ".venv",
    "venv",
    "site-packages",
}


def check_paths(
    paths: Iterable[Path], everything: bool = False
) -> tuple[list[Finding], list[Unreadable]]:
    """The findings in these files and trees, in order, and the files that could not be read."""
    findings: list[Finding] = []
    unreadable: list[Unreadable] = []
    for path in files(paths):
        try:
            source = path.read_text(encoding="utf-8")
            findings += check_source(source, str(path), everything)
        except SyntaxError as error:
            unreadable.append(Unreadable(str(path), error.lineno or 0, f"no Python: {error.msg}"))
        except (OSError, ValueError, RecursionError) as error:
            unreadable.append(Unreadable(str(path), 0, f"{type(error).__name__}: {error}"))
    return findings, unreadable


def check_source(source: str, file: str = "<source>", everything: bool = False) -> list[Finding]:
    """The findings in one text. Raises SyntaxError where it is no Python."""
    tree = ast.parse(source, file)
    lines = source.split("\n")
    names = scope.read(tree)
    functions = scope.everything(names) if everything else scope.compiled(names)
    found = walk(names, functions, file, lines)
    return sorted(one for one in found if not ignored(one, lines))


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """The Python files under these paths, sorted; hidden and built folders are left out."""
    for path in paths:
        if path.is_file():
            yield path
            continue
        for folder, names, members in os.walk(path):
            names[:] = sorted(n for n in names if n not in _SKIPPED and not n.startswith("."))
            yield from (Path(folder) / name for name in sorted(members) if name.endswith(".py"))


__all__ = ["Finding", "Unreadable", "check_paths", "check_source", "files"]
