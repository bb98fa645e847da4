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


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    names = [f"wrappers:{name}" for name in (*AS_TORCH, "composable_checkpoints")]
    return launch.run(2, tmp_path_factory.mktemp("ranks"), *names, seconds=400)


@pytest.mark.parametrize("name", [*AS_TORCH, "composable_checkpoints"])
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


def test_a_module_that_a_composable_checkpoint_runs_again_is_left_to_python(found):
    for rank in found:
        seen = rank["composable_checkpoints"]
        assert seen["suture graphs"] == 0
        assert [text.split()[0] for text in seen["breaks"]] == ["GB0098"]
