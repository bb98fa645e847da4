"""Training over meshes, with a cache: what one rank compiles under FSDP2 the others load; what is
compiled for DTensors each rank keeps for itself; the second start compiles nothing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.distributed import launch
from tests.runtime.store.test_dtensors import kept as keeps_dtensors

SCRIPT = Path(__file__).with_name("kept_training.py")
SHARDED = ("scenarios:fsdp_whole", "scenarios:fsdp_per_block")
SPREAD = ("parallel:tensor_parallel", "parallel:sequence_parallel")


def _started(folder: Path, cache: Path, backend: str, names: tuple[str, ...]) -> list[dict]:
    folder.mkdir()
    given = {"TEST_CACHE": str(cache), "TEST_BACKEND": backend}
    codes = launch.wait(launch.start(2, folder, *names, script=SCRIPT, **given), 140)
    assert codes == [0, 0], "\n".join(
        (folder / f"rank{rank}.err").read_text()[-3000:] for rank in range(2)
    )
    return [json.loads((folder / f"rank{rank}.pt").read_text()) for rank in range(2)]


def test_sharded_parameters_one_rank_compiles_and_the_others_load(tmp_path):
    first = _started(tmp_path / "first", tmp_path / "cache", "aot_eager", SHARDED)
    for name in (one.partition(":")[2] for one in SHARDED):
        (_, kept, refused), (used, more, refused_there) = (rank[name]["counts"] for rank in first)
        assert refused == refused_there == more == 0 < used, [rank[name]["lines"] for rank in first]
        assert kept > 0 or name != "fsdp_whole"
    for rank in _started(tmp_path / "second", tmp_path / "cache", "aot_eager", SHARDED):
        for name, found in rank.items():
            assert found["counts"][0] > 0 == sum(found["counts"][1:]), (name, found["lines"])


@keeps_dtensors
def test_dtensors_each_rank_compiles_once_for_all_starts(tmp_path):
    for rank in _started(tmp_path / "first", tmp_path / "cache", "aot_eager", SPREAD):
        for name, (used, kept, refused) in ((n, one["counts"]) for n, one in rank.items()):
            assert used == refused == 0 < kept, (name, rank[name]["lines"])
    for rank in _started(tmp_path / "second", tmp_path / "cache", "aot_eager", SPREAD):
        for name, (used, kept, refused) in ((n, one["counts"]) for n, one in rank.items()):
            assert kept == refused == 0 < used, (name, rank[name]["lines"])
