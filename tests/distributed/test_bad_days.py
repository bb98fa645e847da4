"""A rank that is late, raises or is killed while another one waits for it in a compiled collective:
an error within the group's timeout; and groups are made again afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.distributed import launch


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    ports = json.dumps([launch.free_port() for _ in range(4)])
    script = Path(__file__).with_name("bad_days.py")
    codes = launch.wait(launch.start(2, folder, script=script, TEST_PORTS=ports), 400)
    assert codes == [0, 17], (folder / "rank0.err").read_text()[-3000:]
    return [json.loads((folder / f"rank{rank}.pt").read_text()) for rank in range(2)]


@pytest.mark.parametrize("case", ["late", "raises", "does_not_come", "killed"])
def test_who_waits_for_a_rank_that_does_not_come_gets_the_group_s_error(found, case):
    seen = found[0][case]
    assert seen["error"] in ("RuntimeError", "DistBackendError")
    assert "gloo" in seen["text"].lower()
    assert found[0]["interpreted"] == 0


def test_the_rank_that_raises_raises_its_own_error(found):
    assert found[1]["raises"]["error"] == "Wrong"
    assert found[1]["raises"]["text"] == "negative"
    assert "late" not in found[1]
    assert "does_not_come" not in found[1]
