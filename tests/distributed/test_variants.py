"""Programs of `variants.py`: gradients as without compiling, graphs no more than torch's."""

from __future__ import annotations

import pytest

from tests.distributed import launch

DDP, SHARDED = ["GB0007"], ["GB0098"]
# Started together: how many ranks, and by name the numbers of the breaks.
GROUPS = {
    "ddp": (2, {
        "ddp_language": DDP,
        "ddp_no_sync_of_inner": [],
        "ddp_norms_with_buffers": DDP,
        "ddp_unused_by_turns": DDP,
        "ddp_hook_of_gradients": DDP,
        "ddp_compiled_step": DDP,
    }),
    "fsdp": (2, {
        "fsdp_keeps_parameters": SHARDED,
        "fsdp_reshards_to_a_part": SHARDED,
        "fsdp_half_precision": SHARDED,
        "fsdp_language": SHARDED,
        "fsdp_without_sync": SHARDED,
        "fsdp_checkpointed": SHARDED,
        "fsdp_parametrized": SHARDED,
        "fsdp_whole_state": SHARDED,
    }),
    "dtensor": (2, {
        "parallel_attention": [],
        "parallel_inputs": [],
        "parallel_blocks": [],
        "weights_as_dtensors": [],
    }),
    "mesh": (4, {
        "mesh_of_language": SHARDED,
        "mesh_of_collectives": [],
        "hybrid_sharding": SHARDED,
    }),
}  # fmt: skip


@pytest.fixture(scope="module", params=GROUPS)
def found(request, tmp_path_factory):
    world, names = GROUPS[request.param]
    asked = [f"variants:{name}" for name in names]
    ranks = launch.run(world, tmp_path_factory.mktemp("ranks"), *asked, seconds=280)
    return {name: (names[name], [rank[name] for rank in ranks]) for name in names}


def test_losses_and_gradients_are_those_of_the_plain_program(found):
    launch.assert_as_uncompiled(found)


def test_graphs_are_no_more_than_torch_compiles(found):
    for name, (breaks, ranks) in found.items():
        for rank in ranks:
            assert 0 < rank["suture graphs"] <= max(rank["torch graphs"], 1), name
            assert [text.split()[0] for text in rank["breaks"]] == breaks, name
