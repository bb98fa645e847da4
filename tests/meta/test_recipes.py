"""The recipes of CONTRIBUTING.md are followed, each in a copy of the tree, and do what they say.

A block that stands in the tree already is taken out of the copy first: the recipe puts it there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THINGS = (
    "An instruction",
    "A value",
    "A call",
    "A break",
    "A rule",
    "A backend",
    "An option",
    "An event",
)
BLOCK = re.compile(
    r"^`(?P<path>[\w./]+)`(?:, below `(?P<below>[^`]*)`)?:\n\n"
    r"(?P<fence>`{3,})\w+\n(?P<text>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(r"^    python -m (pytest .+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A piece of a file: all of a new one, or what is added to one, below a line or at the end."""

    path: str
    below: str | None
    text: str


@dataclass(frozen=True)
class Recipe:
    thing: str
    blocks: tuple[Block, ...]
    command: str


def parts(page: str) -> dict[str, str]:
    """The text below each `### heading` of the page; lines of code are no headings."""
    found: dict[str, list[str]] = {}
    fence, heading = "", ""
    for line in page.splitlines(keepends=True):
        mark = re.match(r"`{3,}", line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[0]
        if not fence and re.match(r"#{1,3} ", line):
            heading = line.lstrip("# ").strip() if line.startswith("### ") else ""
        elif heading:
            found.setdefault(heading, []).append(line)
    return {name: "".join(lines) for name, lines in found.items()}


def recipe(thing: str, text: str) -> Recipe:
    blocks = tuple(Block(m["path"], m["below"], m["text"]) for m in BLOCK.finditer(text))
    (command,) = COMMAND.findall(BLOCK.sub("", text))
    return Recipe(thing, blocks, command)


RECIPES = {
    name: recipe(name, text) for name, text in parts((ROOT / "CONTRIBUTING.md").read_text()).items()
}


def apply(block: Block, root: Path) -> None:
    path = root / block.path
    if not path.exists():
        assert block.below is None, f"{block.path} is a new file"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        return
    text = path.read_text()
    if block.text in text:  # an example from the tree
        assert text.count(block.text) == 1, block
        text = text.replace(block.text, "")
    if block.below is None:
        text = f"{text.rstrip()}\n\n\n{block.text}"
    else:
        lines = text.splitlines(keepends=True)
        (at,) = [i for i, line in enumerate(lines) if block.below in line]
        lines.insert(at + 1, block.text)
        text = "".join(lines)
    path.write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the tests need. Compiled files go along, so that only what a recipe changes
    is compiled again."""
    for folder in ("suture", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy2(ROOT / "pyproject.toml", tmp_path)
    shutil.copy2(ROOT / "suture_pytest.py", tmp_path)
    return tmp_path


def test_there_is_a_recipe_for_each_thing():
    assert tuple(RECIPES) == THINGS


@pytest.mark.parametrize("thing", THINGS)
def test_a_recipe_has_its_thing_and_its_test(thing):
    changed = {block.path.split("/")[0] for block in RECIPES[thing].blocks}
    assert "suture" in changed
    assert "tests" in changed or "/pages/" in str(RECIPES[thing].blocks)


@pytest.mark.parametrize("thing", THINGS)
def test_a_recipe_works(thing, tree):
    found = RECIPES[thing]
    for block in found.blocks:
        apply(block, tree)
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(found.command), "-q", "-p", "no:cacheprovider"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout) and "failed" not in done.stdout
