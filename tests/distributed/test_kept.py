"""What is compiled for meshes and groups is kept for the next start of the same ranks, proven on
the meshes and groups that are there then."""

from __future__ import annotations

import json
from pathlib import Path

from tests.distributed import launch

SCRIPT = Path(__file__).with_name("kept.py")


def _started(folder: Path, cache: Path, **more: str) -> list[dict]:
    folder.mkdir()
    codes = launch.wait(launch.start(2, folder, script=SCRIPT, TEST_CACHE=str(cache), **more), 250)
    assert codes == [0, 0], (folder / "rank0.err").read_text()[-3000:]
    return [json.loads((folder / f"rank{rank}.pt").read_text()) for rank in range(2)]


def test_the_second_start_loads_and_other_meshes_are_compiled(tmp_path):
    for rank in _started(tmp_path / "first", tmp_path / "cache"):
        for name in ("mesh", "group"):
            assert rank[name]["counts"] == [0, 1], rank[name]["lines"]
    for rank in _started(tmp_path / "second", tmp_path / "cache", TEST_OTHERS="1"):
        for name in ("mesh", "group"):
            assert rank[name]["counts"] == [1, 0], rank[name]["lines"]
        assert rank["other mesh"]["counts"] == [0, 1], rank["other mesh"]["lines"]
