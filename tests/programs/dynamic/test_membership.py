"""A number that changes, looked for among known ones: a variant for those, one for all others."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from tests.programs.dynamic.counting import compilations

MILESTONES = [30, 60]


def in_a_tuple(x, step):
    return x * 2 if step in (30, 60) else x + step


def in_a_list(x, step):
    return x * 2 if step in MILESTONES else x + step


def in_a_set(x, step):
    return x * 2 if step in {30, 60} else x + step


def among_others(x, step):
    return x * 2 if step in (None, "last", 30, 60) else x + step


def in_pairs(x, step):
    return x * 2 if (step, 1) == (30, 1) or [step] == [60] else x + step


@pytest.mark.parametrize(
    "fn",
    [in_a_tuple, in_a_list, in_a_set, among_others, in_pairs],
    ids=lambda fn: fn.__name__,
)
def test_steps_that_are_no_milestone_are_one_variant(fn):
    steps = [10, 11, 12, 13, 29, 31, -5, 10**6]
    counts = compilations(fn, *[(torch.ones(2), step) for step in steps])
    assert counts[-1] == 2
    counts = compilations(fn, *[(torch.ones(2), step) for step in (10, 11, 30, 60, 30, 61)])
    assert counts[-1] == (4 if fn is in_pairs else 3)


def test_floats_among_known_ones():
    def fn(x, rate):
        return x * 2 if rate in (0.5, 1.5) else x * rate

    calls = [(torch.ones(2), rate) for rate in (0.1, 0.2, 0.3, math.inf, -0.0, 0.5, 1.5)]
    compilations(fn, *calls)
    assert compilations(fn, *calls[:4])[-1] <= 3


def test_a_nan_is_in_a_list_that_holds_it():
    nan = math.nan
    held = [nan, 1.0]

    def fn(x, value):
        return x + 1, value in held, value in (0.5, 1.5), [value] == [value]

    compilations(fn, *[(torch.ones(2), value) for value in (0.1, 0.2, nan, 1.0)])


def test_counting_from_a_truth_value_gives_numbers():
    def fn(x, start):
        counted = itertools.islice(itertools.count(start), 2)
        return x, list(enumerate("ab", start)), list(counted)

    compilations(fn, *[(torch.ones(2), start) for start in (True, False, 3, 4)])
