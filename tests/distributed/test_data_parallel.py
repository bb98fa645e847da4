"""DDP and FSDP2 on two processes: what compiled ranks compute is what plain ones do, in as many
graphs as torch.compile makes of the same program in the same run."""

from __future__ import annotations

import pytest
import torch

from tests.distributed import launch

FSDP = (
    "fsdp_per_block",
    "fsdp_compiled_after",
    "fsdp_whole",
    "fsdp_mixed_precision_and_checkpoints",
    "fsdp_module_compile",
    "fsdp_torch_modules",
    "fsdp_methods",
)
DDP = (
    "ddp_inside",
    "ddp_outside",
    "ddp_torch_module",
    "ddp_unused_and_buffers",
    "ddp_static_graph",
    "ddp_mixed_precision",
    "ddp_accumulates",
    "ddp_buckets",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    return launch.run(2, folder, *(f"scenarios:{name}" for name in (*FSDP, *DDP)))


@pytest.mark.parametrize("name", [*FSDP, *DDP])
def test_losses_and_gradients_are_those_of_the_plain_program(found, name):
    for rank in found:
        torch.testing.assert_close(rank[name]["suture"], rank[name]["plain"])
        assert rank[name]["interpreted"] == []


@pytest.mark.parametrize("name", [*FSDP, *DDP])
def test_no_more_graphs_than_torch_compile_and_no_fewer_operations(found, name):
    for rank in found:
        seen = rank[name]
        more = seen["suture operations"] - seen["torch operations"]
        assert more >= 0
        # operations that torch.compile leaves to Python may be in graphs of their own
        assert seen["suture graphs"] <= seen["torch graphs"] + more, seen["breaks"]


@pytest.mark.parametrize("name", DDP)
def test_ddp_breaks_once_where_its_reducer_runs(found, name):
    expected = [] if name == "ddp_inside" else ["GB0007"]
    for rank in found:
        assert [text.split()[0] for text in rank[name]["breaks"]] == expected


def test_gradients_of_a_bucket_are_reduced_while_the_backward_goes_on(found):
    for rank in found:
        ours = rank["ddp_buckets"]["suture seen"]["order"]
        theirs = rank["ddp_buckets"]["torch seen"]["order"]
        assert ours == theirs
        first, last = ours.index("bucket"), len(ours) - 1 - ours[::-1].index("backward")
        assert first < last and ours.count("backward") > 5  # more parts than steps
