"""DTensor: captured whole, with its collectives, as torch.compile does it in the same run."""

from __future__ import annotations

import pytest
import torch

from tests.distributed import launch

ONE_GRAPH = ("tensor_parallel", "sequence_parallel", "by_hand")
COLLECTIVES = (
    "functional_collectives",
    "collectives_in_place",
    "collectives_of_groups",
    "ranks_and_sizes",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    names = (*ONE_GRAPH, "placements_change", *COLLECTIVES)
    return launch.run(2, tmp_path_factory.mktemp("ranks"), *(f"parallel:{name}" for name in names))


@pytest.mark.parametrize("name", [*ONE_GRAPH, *COLLECTIVES])
def test_one_graph_computes_what_the_plain_program_does(found, name):
    for rank in found:
        seen = rank[name]
        torch.testing.assert_close(seen["suture"], seen["plain"])
        assert seen["breaks"] == seen["interpreted"] == []
        assert seen["suture graphs"] == 1
        if seen["torch graphs"] == 1:
            assert seen["suture operations"] == seen["torch operations"]


def test_another_placement_is_another_graph(found):
    for rank in found:
        seen = rank["placements_change"]
        torch.testing.assert_close(seen["suture"], seen["plain"])
        assert seen["suture seen"] == seen["plain seen"]
        assert seen["suture graphs"] == seen["torch graphs"] == 3


def test_a_mesh_of_two_by_two_shards_and_splits(tmp_path):
    for rank in launch.run(4, tmp_path, "parallel:two_by_two"):
        seen = rank["two_by_two"]
        torch.testing.assert_close(seen["suture"], seen["plain"])
        assert seen["interpreted"] == []
        assert seen["suture graphs"] <= seen["torch graphs"]
        assert seen["suture operations"] == seen["torch operations"]
