"""Ranks that decide together; a rank that does otherwise is named, and nobody waits for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.distributed import launch

SCRIPT = Path(__file__).with_name("agree.py")


def told(folder, *cases, codes=(0, 0)):
    ranks = launch.start(2, folder, *cases, script=SCRIPT, TEST_CACHE=str(folder / "cache"))
    assert tuple(launch.wait(ranks, 500)) == codes, (folder / "rank0.err").read_text()[-2000:]
    return [
        json.loads((folder / f"rank{rank}.pt").read_text()) for rank in range(2) if not codes[rank]
    ]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    cases = ("other_sizes", "other_place", "breaks_elsewhere", "fails_to_compile")
    more = ("guard_collectives", "one_compiles", "one_compiles_training", "does_not_come")
    return told(tmp_path_factory.mktemp("ranks"), *cases, *more)


def test_a_size_that_differs_on_one_rank_is_a_symbol_on_all(found):
    first, second = (rank["other_sizes"] for rank in found)
    assert len(first["graphs"]) == len(second["graphs"]) == 2
    assert first["graphs"] == second["graphs"]
    # rank 0 would not have compiled again: it says who did, and for which guard
    assert first["recompiled"] == ["rank 1: x.size(0) == 4: was 4, is 5"]
    assert second["recompiled"] == ["x.size(0) == 4: was 4, is 5"]


def test_an_agreement_takes_two_messages_of_each_rank(found):
    # five calls, one of them in two steps, and two that compile
    assert found[1]["other_sizes"]["messages"] == 2 * (5 + 1 + 2)


def test_a_rank_that_is_elsewhere_is_named_with_its_place(found):
    for rank in found:
        assert rank["other_place"]["error"].startswith(
            "RanksDiffer: ranks are not at the same point"
        )
        assert "rank 1 is at other_place.<locals>.<lambda>" in rank["other_place"]["error"]


def test_a_rank_that_breaks_where_others_do_not_is_named(found):
    for rank in found:
        error = rank["breaks_elsewhere"]["error"]
        assert error.startswith("RanksDiffer: ranks compiled differently")
        assert "rank 1: 0 operations, then Run" in error


def test_a_rank_that_fails_raises_its_error_and_the_other_hears_of_it(found):
    first, second = (rank["fails_to_compile"]["error"] for rank in found)
    assert first.startswith("RanksDiffer") and "rank 1: BackendFailed" in first
    assert second.startswith("BackendFailed") and "no room" in second


def test_a_rank_that_does_not_come_is_named_within_the_timeout(found):
    error = found[0]["does_not_come"]["error"]
    assert error.startswith("RanksDiffer: rank 1 did not come within 3 s")
    assert "rank 1 was last seen at does_not_come" in error


def test_the_switch_of_torch_counts_while_suture_is_installed(found):
    for rank in found:
        seen = rank["guard_collectives"]
        assert seen["was on"] is False
        for before in (True, False):
            agreed = seen[f"set before install: {before}"]
            assert agreed["recompiled"] == rank["other_sizes"]["recompiled"]
            assert agreed["messages"] == rank["other_sizes"]["messages"]
        assert seen["messages"] == 0
    # rank 0 saw another size in the fourth call only, and found out by itself
    assert found[0]["guard_collectives"]["recompiled"] == ["x.size(0) == 4: was 4, is 7"]


def test_one_rank_compiles_and_the_others_load(found):
    first, second = (rank["one_compiles"]["_summed"] for rank in found)
    assert first["values"] == second["values"] == [[3.0] * 3, [7.0] * 3]
    assert (first["loaded"], first["kept"]) == (0, 1), first["lines"]
    assert (second["loaded"], second["kept"]) == (1, 0), second["lines"]


def test_both_sides_of_a_training_graph_are_compiled_by_one_rank(found):
    for number, rank in enumerate(found):
        seen = rank["one_compiles_training"]
        weight = torch.full((3, 3), 0.5, requires_grad=True)
        losses = []
        for step in range(2):
            loss = (torch.ones(2, 3) * (step + number + 1) @ weight).tanh().pow(2).mean()
            loss.backward()
            losses.append(loss.item())
        assert seen["losses"] == pytest.approx(losses)
        torch.testing.assert_close(torch.tensor(seen["grad"]), weight.grad)
        counts = (seen["loaded"], seen["kept"])
        assert counts == ((1, 0) if number else (0, 1)), seen["lines"]


def test_what_depends_on_the_rank_is_compiled_by_each(found):
    for number, rank in enumerate(found):
        seen = rank["one_compiles"]["_of_this_rank"]
        assert seen["values"] == [[number * 11.0] * 3, [number * 11.0 + 10] * 3]
        assert (seen["loaded"], seen["kept"]) == (0, 1), seen["lines"]


def test_a_rank_that_is_killed_is_named(tmp_path):
    (first,) = told(tmp_path, "killed", codes=(0, 17))
    assert first["killed"]["error"].startswith("RanksDiffer: rank 1 did not come within 3 s")
