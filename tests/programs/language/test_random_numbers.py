"""Numbers from Python's own generator inside a compiled function."""

from __future__ import annotations

import random

import pytest
import torch

import suture
from tests.harness import check


def test_drawn_numbers_are_part_of_the_graph():
    def fn(x):
        scale, shift = random.random(), random.uniform(1, 2)
        return x * scale + shift + random.randint(3, 9), shift

    check(fn, torch.ones(2))


def test_each_call_draws_anew():
    def fn(x):
        return x * random.random(), random.gauss(0.0, 1.0)

    suture.reset()
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    for seed in range(4):
        random.seed(seed)
        wanted, state = fn(torch.ones(2)), random.getstate()
        random.seed(seed)
        got = compiled(torch.ones(2))
        assert random.getstate() == state
        assert torch.equal(wanted[0], got[0]) and wanted[1] == got[1]
    assert suture.stats().variants == 1


def test_a_number_that_nobody_uses_is_drawn_all_the_same():
    def fn(x, training):
        for _ in range(3):
            drawn = random.uniform(0, 1)
            if training and drawn < 0.5:
                continue
            x = x + 1
        return x

    check(fn, torch.ones(2), False)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1])
def test_a_probability_that_leaves_no_choice_is_no_branch(probability):
    def fn(x):
        for _ in range(3):
            if random.random() < probability:
                continue
            x = x + 1
        return x * 2

    check(fn, torch.ones(2))


def test_a_branch_on_a_drawn_number_is_a_break():
    def fn(x):
        p = random.random()
        return x + 1 if p < 0.5 else x * p

    check(fn, torch.ones(2), graphs=None, breaks=("GB2010",), recompiles=None)


def test_a_failed_check_draws_the_same_numbers_again():
    def fn(x):
        y = x * random.random()
        if y.sum() > 0:
            raise ValueError(f"{random.random()}")
        return y

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_wrong_arguments_raise_what_random_raises():
    def fn(x):
        return x * random.randint(3, 1)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_generator_of_ones_own_still_works():
    def fn(x, generator):
        return x * generator.random() + generator.uniform(0, 1)

    check(fn, torch.ones(2), random.Random(3), graphs=None, breaks=None, recompiles=None)
