"""Process groups that are destroyed and made again; processes that fork and spawn."""

from __future__ import annotations

import json
from pathlib import Path

from tests.distributed import launch


def test_a_group_that_is_made_again_is_another_one(tmp_path):
    ports = json.dumps([launch.free_port() for _ in range(2)])
    script = Path(__file__).with_name("life.py")
    ranks = launch.start(2, tmp_path, script=script, TEST_PORTS=ports)
    codes = launch.wait(ranks, 500)
    assert codes == [0, 0], (tmp_path / "rank0.err").read_text()[-3000:]
    for rank in range(2):
        told = json.loads((tmp_path / f"rank{rank}.pt").read_text())
        assert told["values"] == [4.0, 4.0, 1.0]  # two ranks that each have 2, then one that has 1
        assert (told["before"], told["after"]) == (1, 2)
        assert told["fork"] is told["spawn"] is True
        if rank == 0:  # children that are ranks themselves: each has compiled once, for its group
            for first, second, codes in told["groups"]:
                assert first == [0, [6.0, 10.0], 1]
                assert second == [1, [6.0, 10.0], 1]
                assert codes == [0, 0]
