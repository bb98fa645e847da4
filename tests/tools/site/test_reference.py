"""The pages that are made: every option and every public name is there, with what it says."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import suture
from suture.tools.site import markdown, reference
from suture.tools.site.build import SECTIONS, guide_pages, menu

ROOT = Path(__file__).parents[3]


def test_every_option_is_on_its_page():
    page = reference.options()
    rendered = markdown.render(page)
    for one in suture.config.describe():
        assert f"| `{one.name}` |" in page
        assert all(name in page for name in one.environment)
    assert (
        str(rendered).count("<tr>") == len(suture.config.describe()) + len(suture.logs.TOPICS) + 2
    )


def test_every_public_name_is_in_the_api():
    page = reference.api()
    for name in suture.__all__:
        assert f"## suture.{name}\n" in page
    assert inspect.getdoc(suture.guards) in page
    assert " object at 0x" not in page


def test_the_menu_has_every_page_once():
    pages = [name for _, rows in menu(guide_pages()) for name, _ in rows]
    assert sorted(pages) == sorted(guide_pages())
    assert {"tutorial", "performance", "troubleshooting", "options", "api", "faq"} <= set(pages)
    assert "More" not in dict(menu(guide_pages()))
    assert next(iter(SECTIONS)) == "Getting started"


def test_a_wheel_brings_the_guide(tmp_path):
    pytest.importorskip("setuptools")
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "suture" / "tools" / "site" / "guide").rglob("*")}
    assert {"tutorial.md", "trace-schema.md", "cache.md", "break-in-a-loop.svg"} <= names
    assert (tmp_path / "suture" / "tools" / "site" / "templates" / "index.html.j2").exists()
