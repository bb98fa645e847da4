"""Modules that are replicated, checkpointed, reparametrised or given another class, before and
after they are compiled, and recipes of training: as the plain program, and as torch.compile."""

from __future__ import annotations

import pytest
import torch

from tests.distributed import launch

# by name: the numbers of the breaks
REPLICATED = {
    "replicate_then_compile": ["GB0007"],
    "compile_then_replicate": ["GB0007"],
    "replicate_blocks": ["GB0098"],
}
SWAPPED = {
    "checkpoints_around_compiled": [],
    "checkpoints_inside_compiled": [],
    "classes_before": [],
    "classes_after": [],
    "class_of_the_compiled": [],
    "parametrized": [],
}
RECIPES = {"ddp_everything": ["GB0007"], "fsdp_everything": ["GB0098"]}
AS_TORCH = {**REPLICATED, **SWAPPED, **RECIPES}
# torch.compile raises on the others of these: by name the graphs, and the numbers of the breaks
CHECKPOINTS = {
    "composable_checkpoints_of_compiled": (2, []),
    "composable_checkpoints": (2, []),
    "composable_checkpoints_in_one": (1, []),
    "composable_checkpoints_that_break": (0, ["GB0098"]),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    names = [f"wrappers:{name}" for name in (*AS_TORCH, *CHECKPOINTS)]
    return launch.run(2, tmp_path_factory.mktemp("ranks"), *names, seconds=400)


@pytest.mark.parametrize("name", [*AS_TORCH, *CHECKPOINTS])
def test_what_is_trained_is_what_the_plain_program_trains(found, name):
    for rank in found:
        torch.testing.assert_close(rank[name]["suture"], rank[name]["plain"])
        assert rank[name]["suture seen"] == rank[name]["plain seen"]
        assert rank[name]["interpreted"] == []


@pytest.mark.parametrize("name", AS_TORCH)
def test_graphs_and_operations_are_as_many_as_torch_compile_has(found, name):
    for rank in found:
        seen = rank[name]
        assert seen["suture graphs"] == seen["torch graphs"] > 0
        assert seen["suture operations"] == seen["torch operations"]
        assert [text.split()[0] for text in seen["breaks"]] == AS_TORCH[name]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_composable_checkpoint_is_in_the_graph_or_left_to_python(found, name):
    graphs, breaks = CHECKPOINTS[name]
    for rank in found:
        assert rank[name]["suture graphs"] == graphs
        assert [text.split()[0] for text in rank[name]["breaks"]] == breaks
