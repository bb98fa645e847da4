"""benchmarks/pythons.py: ratios to the first Python, of the cheapest process of each."""

from __future__ import annotations

import importlib
import json
import pathlib
import shlex
import sys

import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def pythons(monkeypatch):
    """The module as a program has it; what it imports from its folder is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(_ROOT / "benchmarks"))
    for name in ("pythons", "table"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("pythons")
    for name in ("pythons", "table"):
        sys.modules.pop(name, None)


def costing(folder, name, *costs):
    """A command in place of a Python: each process of it is said to cost the next of `costs`."""
    left = folder / f"{name}.json"
    left.write_text(json.dumps(costs))
    program = f"""
import json, pathlib
left = pathlib.Path({str(left)!r})
cost, *rest = json.loads(left.read_text())
left.write_text(json.dumps(rest))
print(json.dumps({{"python": {name!r}, "torch": "2.13.0+cpu", "calls": {{"x + 1": cost}}}}))
"""
    return shlex.join([sys.executable, "-S", "-c", program])


@pytest.mark.parametrize(("limit", "code"), [("1.5", 0), ("1.4", 1)])
def test_the_largest_ratio_of_the_cheapest_processes_is_held_to_the_limit(
    pythons, tmp_path, monkeypatch, capsys, limit, code
):
    first = costing(tmp_path, "3.11.7", 4.0, 2.0)
    other = costing(tmp_path, "3.14.0", 3.0, 8.0)
    monkeypatch.setattr(sys, "argv", ["pythons.py", first, other, "--turns", "2", "--limit", limit])
    assert pythons.main() == code
    told = capsys.readouterr().out
    assert "3.00 (1.50)" in told and "largest ratio to the first Python is 1.50" in told


def test_a_python_that_measures_nothing_is_named(pythons, tmp_path):
    broken = shlex.join([sys.executable, "-S", "-c", "raise SystemExit(3)"])
    with pytest.raises(SystemExit, match="measured nothing: its exit code is 3"):
        pythons.asked(broken)
