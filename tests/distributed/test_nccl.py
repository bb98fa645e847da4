"""What one GPU can show of NCCL: a group of one rank. Without a GPU these tests are skipped, and
say so."""

from __future__ import annotations

import os

import pytest
import torch

from tests.distributed import launch

NAMES = (
    "handles_overlap",
    "each_collective",
    "ddp",
    "ddp_lower_precision",
    "fsdp",
    "tensor_parallel",
    "another_group",
)

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and torch.distributed.is_nccl_available()),
    reason="no GPU with NCCL: collectives on GPUs are not tested on this machine",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    (rank,) = launch.run(
        1,
        tmp_path_factory.mktemp("ranks"),
        *(f"gpu:{name}" for name in NAMES),
        seconds=500,
        TEST_BACKEND="nccl",
        CUDA_VISIBLE_DEVICES=os.environ.get("CUDA_VISIBLE_DEVICES", "0"),
    )
    return rank


@pytest.mark.parametrize("name", NAMES)
def test_it_computes_what_the_plain_program_does(found, name):
    torch.testing.assert_close(found[name]["suture"], found[name]["plain"], rtol=1e-3, atol=1e-4)
    assert found[name]["interpreted"] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_more_graphs_than_torch_compile(found, name):
    seen = found[name]
    more = seen["suture operations"] - seen["torch operations"]
    assert more >= 0
    assert seen["suture graphs"] <= seen["torch graphs"] + more, seen["breaks"]


@pytest.mark.parametrize("name", ["handles_overlap", "each_collective", "another_group"])
def test_collectives_with_handles_are_one_graph(found, name):
    assert found[name]["suture graphs"] == 1
    assert found[name]["breaks"] == []


def test_inductor_keeps_what_was_captured(found):
    """The same programs through Inductor, against the plain ones."""
    for name in ("handles_overlap", "ddp", "fsdp"):
        seen = found[name]["suture seen"]
        torch.testing.assert_close(seen["inductor"], found[name]["plain"], rtol=1e-2, atol=1e-3)
