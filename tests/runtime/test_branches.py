"""Which branches on data are expected to go as before, and which are looked at no more."""

from __future__ import annotations

import types

import pytest

from suture import config
from suture.runtime import branches as module
from suture.runtime.branches import Branches

BRANCH = ((lambda: None).__code__, 3)


@pytest.fixture
def go(monkeypatch):
    """A call of a branch: what it does in the next outermost call; whether it is expected then."""
    count = [0]
    monkeypatch.setattr(
        module, "_core", types.SimpleNamespace(outermost_calls=lambda: count[0], jump=None)
    )
    seen = Branches()

    def call(*truths):
        count[0] += 1
        answers = [seen.saw(BRANCH, truth) for truth in truths]
        return answers[-1]

    call.branches = seen
    with config.patch(speculate_after=3):
        yield call


def test_a_branch_that_never_settles_is_given_up(go):
    for turn in range(60):
        assert not go(turn % 2 == 0)
    assert not go.branches.is_unpredictable(BRANCH)
    for turn in range(20):
        assert not go(turn % 3 == 0, turn % 2 == 0, True)
    assert go.branches.is_unpredictable(BRANCH)
    assert not any(go(True) for _ in range(20))
    assert go.branches.expected() == {}


def test_a_branch_that_settles_now_and_then_is_not(go):
    for _ in range(40):
        for truth in (True, False, True, True, True, True):
            last = go(truth)
        assert last
        go(False), go(True)
    assert not go.branches.is_unpredictable(BRANCH)
