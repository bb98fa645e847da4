"""Programs of `by_hand.py`: what they train is what the plain program trains, in no more graphs
than torch.compile makes of them."""

from __future__ import annotations

import pytest

from tests.distributed import launch

# by name the numbers of the breaks
PROGRAMS = {
    "stages_that_send": [],
    "experts_on_each_rank": [],
    "sequence_over_ranks": [],
    "averaged_now_and_then": [],
    "sampled_and_saved": ["GB0007"],
}
# torch.compile leaves a function of it to Python: so many graphs are made here.
LEFT_BY_TORCH = {"averaged_now_and_then": 2}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    asked = [f"by_hand:{name}" for name in PROGRAMS]
    ranks = launch.run(2, tmp_path_factory.mktemp("ranks"), *asked)
    return {name: (PROGRAMS[name], [rank[name] for rank in ranks]) for name in PROGRAMS}


def test_what_is_trained_is_what_the_plain_program_trains(found):
    launch.assert_as_uncompiled(found)


def test_graphs_are_no_more_than_torch_compiles(found):
    for name, (breaks, ranks) in found.items():
        for rank in ranks:
            most = LEFT_BY_TORCH.get(name, rank["torch graphs"])
            assert 0 < rank["suture graphs"] <= most, name
            assert [text.split()[0] for text in rank["breaks"]] == breaks, name
