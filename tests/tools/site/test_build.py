"""Building: examples run in a process of their own, and what they print is on the page."""

from __future__ import annotations

import importlib

import pytest

from suture.tools.site import GuideFailed, examples, markdown
from suture.tools.site import build as build_site
from suture.tools.site.build import guide_pages, run

PROGRAM = """\
import torch

def fn(x):
    if x.sum() > 0:
        return x + 1
    return x

def args():
    return (torch.ones(3),)
"""


def job(source, name="p", **config):
    return {"kind": "page", "id": name, "source": source, "config": config}


def test_programs_crash_and_hang_alone(monkeypatch):
    monkeypatch.setattr(examples, "PATIENCE", 60.0)
    crash = "import os\nos._exit(3)\n"
    results = examples.run_all([job(PROGRAM, "a"), job(crash, "b"), job(PROGRAM, "c")])
    assert results["b"] is None
    for name in "ac":
        assert results[name]["breaks"] == ["GB0170"]
        assert "example.py:4 in fn" in results[name]["output"]
        assert "file://" not in results[name]["output"]
        assert len(results[name]["graphs"]) == 2


def test_what_a_program_raises_is_its_output():
    results = examples.run_all([job("def args(): return ()\ndef fn(): raise KeyError('k')\n")])
    assert results["p"]["error"] == "KeyError: 'k'"


def test_an_example_that_does_not_do_what_it_says_fails_the_build():
    with pytest.raises(GuideFailed, match="page line 4: ZeroDivisionError"):
        run({"page": "# Title\n\n```python\n1 / 0\n```\n"}, lambda name: None)
    with pytest.raises(GuideFailed, match="raised nothing"):
        run({"page": "```python raises\n1\n```\n"}, lambda name: None)


@pytest.fixture(scope="module")
def worker():
    made = examples.Worker()
    yield made
    made.close()


@pytest.mark.parametrize("name", list(guide_pages()))
def test_the_examples_of_the_guide_do_what_they_say(name, worker):
    text = guide_pages()[name]
    blocks = markdown.blocks(text)
    assert blocks or "```" not in text
    result = worker.answer({"kind": "guide", "id": name, "blocks": blocks})
    assert result is not None, "the example crashed"
    assert result["failed"] == ""


class TestMarkdown:
    def test_hostile_text_is_escaped(self):
        html = markdown.render("<script>alert(1)</script> [x](javascript:alert(1)) `<b>`")
        assert "<script>" not in html
        assert 'href="javascript' not in html
        assert "&lt;b&gt;" in html

    def test_numbers_and_pages_become_links(self):
        html = markdown.render(
            "GB0170 and GB9998 and [this](../../suture/breaks/pages/GB0025.md)", "../"
        )
        assert '<a href="../breaks/GB0170.html">GB0170</a>' in html
        assert "GB9998.html" not in html
        assert '<a href="../breaks/GB0025.html">this</a>' in html

    def test_output_stands_below_its_block(self):
        text = "```python\nprint(1)\n```\n\n```\nnot run\n```\n\n```python\nprint(2)\n```\n"
        html = markdown.render(text, output=lambda n: ("one", "two<")[n])
        assert html.index("one") < html.index("not run") < html.index("two&lt;")

    def test_blocks_know_their_lines(self):
        found = markdown.blocks(
            "# T\n\n```python raises\nx\n```\n\n```console\n$ suture doctor\n```\n"
        )
        assert [(b["kind"], b["line"], b["raises"]) for b in found] == [
            ("python", 4, True),
            ("console", 8, False),
        ]


def test_a_folder_that_is_no_site_is_left_alone(tmp_path, capsys):
    from suture.tools.cli import main

    (tmp_path / "mine.txt").write_text("keep")
    assert main(["site", "build", str(tmp_path), "--quick"]) == 2
    assert main(["site", "build", str(tmp_path / "mine.txt"), "--quick"]) == 2
    assert main(["site", "serve", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert callable(build_site)


def test_a_guide_whose_example_fails_leaves_no_folder(monkeypatch, tmp_path):
    building = importlib.import_module("suture.tools.site.build")

    def fails(guides, tell):
        raise building.GuideFailed("an example")

    monkeypatch.setattr(building, "run", fails)
    with pytest.raises(building.GuideFailed):
        building.build(tmp_path / "site")
    assert not (tmp_path / "site").exists()
