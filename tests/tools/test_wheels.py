"""tools/wheels.py: the names of wheels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def wheels(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location("wheels_tool", TOOLS / "wheels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_build_without_a_lock_has_wheels_of_its_own(wheels):
    assert wheels.tags("3.14") == "cp314-cp314"
    assert wheels.tags("3.14t") == "cp314-cp314t"
    assert "3.14t" in wheels.VERSIONS
