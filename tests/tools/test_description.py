"""setup.py: the README on a page outside of the repository."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def packaging():
    spec = importlib.util.spec_from_file_location("packaging_of_suture", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_lead_below_the_address(packaging, readme):
    made = packaging.description(readme, "https://example.org/suture/")
    found = LINK.findall(made)
    assert len(found) == len(LINK.findall(readme)) > 10
    assert all(target.startswith("https://example.org/suture/") for target in found)
    for target in found:
        assert (ROOT / target.removeprefix("https://example.org/suture/")).exists(), target


def test_without_an_address_no_link_leads_nowhere(packaging, readme):
    made = packaging.description(readme, "")
    assert not LINK.search(made)
    assert "docs/architecture.md shows" in " ".join(made.split())
    assert made.count("```python") == readme.count("```python")


def test_other_links_stay(packaging):
    text = "[torch](https://pytorch.org) and [below](#examples)"
    assert packaging.description(text, "") == text
    assert packaging.description(text, "https://example.org") == text
