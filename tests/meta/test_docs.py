"""What the pages state is executed.

Blocks fenced as ```python on README.md are run in order, in one namespace, as a reader would paste
them. Links to files of the repository lead somewhere.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[int, str]]:
    """The (line, source) pairs of a page's Python blocks."""
    text = page.read_text()
    return [(text.count("\n", 0, at.start()) + 2, at[1]) for at in BLOCK.finditer(text)]


def test_readme_examples_run(tmp_path):
    """In a process of their own: they speak about what has been compiled so far."""
    found = blocks(ROOT / "README.md")
    assert found
    program = ""
    for line, source in found:
        # At README's own line numbers, so that a traceback points there.
        program += "\n" * (line - 1 - program.count("\n")) + source
    path = tmp_path / "readme.py"
    path.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_readme_shows_demo_and_test_first():
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.strip()]
    assert lines[1].split()[:2] == ["make", "demo"]
    assert lines[2].split()[:2] == ["make", "test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_figures_of_readme_are_those_of_the_benchmarks():
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith("| ") and line.rstrip("| ")[-1].isdigit()
    ]
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    assert len(rows) >= 5
    for _, ours, theirs, ratio in rows:
        assert f"| {ours} | {theirs} |" in measured
        assert f"| {ratio} |" in measured


def test_the_glossary_gives_each_word_one_meaning():
    """One row per word, in order, each with a meaning of one to three sentences."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    rows = [row for row in rows if row[0] not in ("word", "---")]
    words = [word for word, _ in rows]
    assert words == sorted(words, key=str.lower)
    single = [word for entry in words for word in entry.split(", ")]
    assert len(set(single)) == len(single) >= 40
    for word, meaning in rows:
        assert meaning.endswith("."), word
        assert 1 <= len(re.findall(r"\.(?:\s|$)", meaning)) <= 3, word
