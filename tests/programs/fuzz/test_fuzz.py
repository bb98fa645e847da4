"""A few programs of each generator; `make fuzz` runs as many as there is time for."""

from __future__ import annotations

import json
import sys

import pytest

from tests.programs.fuzz import __main__ as tool
from tests.programs.fuzz.running import differences
from tests.programs.fuzz.texts import GENERATORS


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", GENERATORS)
def test_random_programs_do_compiled_what_they_do_plainly(name, seed):
    source = GENERATORS[name](seed)
    assert not differences(source), source


def test_a_seed_gives_the_same_program_each_time():
    for make in GENERATORS.values():
        assert make(5) == make(5)
        assert make(5) != make(6)


def test_a_run_goes_on_where_the_last_one_stopped(tmp_path, monkeypatch, capsys):
    asked = []

    def runner(number):
        asked.append(number)
        return "differs" if number == 3 else ""

    monkeypatch.setattr(tool, "RUNNERS", {"some": (runner, 5)})
    state = tmp_path / "state.json"
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", ["fuzz", "--state", str(state), "--rounds", "2"])
        tool.main()
    assert asked == [0, 1, 2, 3]
    assert json.loads(state.read_text())["failed"] == [["some", 3]]
    assert "---- some 3\ndiffers" in capsys.readouterr().out
