"""Process groups that are destroyed and made again; processes that fork and spawn."""

from __future__ import annotations

import json
from pathlib import Path

from tests.distributed import launch


def test_a_group_that_is_made_again_is_another_one(tmp_path):
    ranks = launch.start(2, tmp_path, script=Path(__file__).with_name("life.py"))
    codes = launch.wait(ranks, 500)
    assert codes == [0, 0], (tmp_path / "rank0.err").read_text()[-3000:]
    for rank in range(2):
        told = json.loads((tmp_path / f"rank{rank}.pt").read_text())
        assert told["values"] == [4.0, 4.0, 1.0]  # two ranks that each have 2, then one that has 1
        assert (told["before"], told["after"]) == (1, 2)
        assert told["fork"] is told["spawn"] is True
