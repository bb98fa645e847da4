"""Habits that a machine can check: see CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", "benchmarks", "csrc", "docs", "examples", "site", "suture", "tests", "tools")
LONGEST = 500

# Put together so that this file does not contain what it looks for.
UNFINISHED = re.compile(
    r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b"
)
NOT_WRITTEN = "NotImplemented" + "Error"
LOCAL_PATH = re.compile(r"/(wor[k]|far[m]|roo[t]|hom[e])/[a-z.]")


def house() -> list[Path]:
    """The files of the repository that people write."""
    beside = (".git",)  # a file in a work tree of git, with the place of its repository
    found = [path for path in ROOT.iterdir() if path.is_file() and path.name not in beside]
    found = [path for path in found if path.suffix != ".lock"]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(
        path
        for path in found
        if "__pycache__" not in path.parts and path.suffix not in (".so", ".pyc", ".o")
    )


def code() -> list[Path]:
    return [path for path in house() if path.suffix in (".py", ".c", ".h")]


def lines_with(paths: list[Path], pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in paths:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return found


def test_a_reader_finishes_any_file_in_one_sitting():
    lengths = {path: len(path.read_text().splitlines()) for path in code()}
    long = [f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > LONGEST]
    assert not long, "\n" + "\n".join(long)


def test_nothing_is_marked_as_unfinished():
    found = lines_with(code(), UNFINISHED)
    assert not found, "\n" + "\n".join(found)


def test_no_body_only_says_that_it_is_not_written():
    """Raising it is for abstract methods of others' classes; suture has protocols instead.
    Programs under test may handle it, and a rule may name it."""
    found = []
    for path in code():
        if path.suffix == ".py" and path.is_relative_to(ROOT / "suture"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Raise) and NOT_WRITTEN in ast.unparse(node):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found, "\n" + "\n".join(found)


def test_no_local_paths():
    found = lines_with(house(), LOCAL_PATH)
    assert not found, "\n" + "\n".join(found)
