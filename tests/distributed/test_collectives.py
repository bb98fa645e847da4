"""Collectives: what torch.compile captures is captured, and handles that are waited for; the
rest is a break that the program goes on behind."""

from __future__ import annotations

import pytest
import torch

from tests.distributed import barriers, launch

ONE_GRAPH = (
    "waited",
    "waited_positionally",
    "many_handles",
    "each_kind",
    "gathered_later",
    "used_on_one_rank",
    "with_gradients",
    "parts_of_their_own",
    "meshes",
)
# one graph, of which the backend compiles what is between barriers
CUT = (
    "barriers",
    "memory_of_both",
    "barriers_and_collectives",
    "with_options",
    "other_modes",
    "many_sizes",
    "sent_before",
    "spread_tensors",
)
# one graph, that runs one operation after the other
IN_ORDER = ("rows_of_one_tensor", "spread_parameters")
# the numbers of the breaks, in order; the first one is the collective's
BREAKS = {
    "of_another_shape": ["GB0007"],
    "handle_leaves": ["GB0172"],
    "handle_is_kept": ["GB0172", "GB2030", "GB0177"],
    "nobody_waits": ["GB0172"],
    "asked_whether_done": ["GB0172", "GB2030", "GB0177"],
    "computed_again": ["GB2060"],
    "objects": ["GB0007"],
    "sent_to_the_next": ["GB0007", "GB2030", "GB0177", "GB2030", "GB0177"],
    "sent_in_a_batch": ["GB0007", "GB2030", "GB0177"],
    "sent_and_received": ["GB0007", "GB0007"],
    "to_one_and_from_one": ["GB0007", "GB0007", "GB0007"],
    "distributed_inside": ["GB0007", "GB0007"],
    "checked_locals": ["GB0007", "GB0007"],
}
PROGRAMS = (*ONE_GRAPH, *CUT, *IN_ORDER, "under_way", *BREAKS)
TORCH_RAISES = ["of_another_shape", "objects", "checked_locals"]
if torch.__version__ < (2, 12):
    TORCH_RAISES.append("meshes")  # fails on its own guards there


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    names = []
    for name in PROGRAMS:
        names.append(f"{'barriers' if hasattr(barriers, name) else 'collectives'}:{name}")
    return launch.run(2, tmp_path_factory.mktemp("ranks"), *names)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_rank_computes_what_the_plain_program_does(found, name):
    for rank in found:
        torch.testing.assert_close(rank[name]["suture"], rank[name]["plain"])
        assert rank[name]["suture seen"] == rank[name]["plain seen"]
        assert rank[name]["interpreted"] == []


@pytest.mark.parametrize("name", ONE_GRAPH)
def test_one_graph_where_torch_compile_has_one_or_more(found, name):
    for rank in found:
        seen = rank[name]
        assert seen["breaks"] == []
        assert seen["suture graphs"] == 1
        assert seen["torch graphs"] >= 1 or name in TORCH_RAISES
        if name == "used_on_one_rank":
            assert seen["suture operations"] == seen["torch operations"]


@pytest.mark.parametrize("name", CUT)
def test_a_barrier_is_in_the_graph_which_is_compiled_in_parts(found, name):
    for rank in found:
        assert rank[name]["breaks"] == []
        assert 1 < rank[name]["suture graphs"] <= rank[name]["torch graphs"]


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_no_compiler_may_have_in_parts_runs_in_order(found, name):
    for rank in found:
        assert rank[name]["breaks"] == []
        assert rank[name]["suture graphs"] == 0


def test_a_collective_that_is_under_way_at_a_barrier_is_waited_for_behind_it(found):
    """One rank begins it before the barrier, and runs in order; the other one behind it."""
    assert [rank["under_way"]["breaks"] for rank in found] == [[], []]
    assert [rank["under_way"]["suture graphs"] for rank in found] == [0, 2]


@pytest.mark.parametrize("name", BREAKS)
def test_what_only_python_can_make_is_a_break_and_no_more(found, name):
    for rank in found:
        seen = rank[name]
        assert [text.split()[0] for text in seen["breaks"]] == BREAKS[name]
        if name not in TORCH_RAISES:
            more = seen["suture operations"] - seen["torch operations"]
            assert more >= 0
            # operations that torch.compile leaves to Python may be in graphs of their own
            assert seen["suture graphs"] <= seen["torch graphs"] + more
