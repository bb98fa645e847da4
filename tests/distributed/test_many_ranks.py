"""Many ranks, simulated with a few: one compiles, the others load, and words are counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed import launch

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "ranks.py"
RANKS = 16


@pytest.fixture(scope="module")
def found():
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--ranks", str(RANKS), "--json"],
        env=launch.environment(), capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_all_ranks_have_one_key_and_one_of_them_compiles(found):
    cache = found["cache"]
    assert (cache["keys"], cache["compiled"], cache["loaded"]) == (1, 1, RANKS - 1)


def test_a_region_that_fits_costs_two_messages_of_each_rank(found):
    assert found["hit"]["messages of a rank"] == 2
    # each rank: a word, a wait, an answer; rank 0 besides: a wait, all words at once, the answer
    assert found["hit"]["requests"] == 3 * RANKS + 3


def test_an_answer_holds_what_all_say_once(found):
    assert found["hit"]["largest"] < 100


def test_a_miss_takes_four_steps(found):
    assert found["miss"]["messages of a rank"] == 8
    # as above for each step; and of the three that are over, rank 0 deletes words and answer
    assert found["miss"]["requests"] == 4 * (3 * RANKS + 3) + 3 * (RANKS + 1)
