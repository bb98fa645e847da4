"""Generators of random.Random, from outside and made in the compiled function."""

import random

import pytest
import torch

import suture
from tests.harness import Graphs, check

x = torch.arange(3.0)


def test_one_from_outside_is_where_eager_leaves_it():
    def fn(x, rng):
        y = x + rng.random() * rng.uniform(1, 2)
        return y * rng.randint(1, 9) + rng.randrange(5), rng.gauss(0.0, 1.0)

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs, fullgraph=True)
    for seed in (1, 2):  # another generator needs no other variant
        ours, eagers = random.Random(seed), random.Random(seed)
        for _ in range(3):
            got, wanted = compiled(x, ours), fn(x, eagers)
            torch.testing.assert_close(got[0], wanted[0])
            assert got[1] == wanted[1]
            assert ours.getstate() == eagers.getstate()
    assert len(graphs) == 1


def test_two_sources_of_one_generator():
    def fn(x, a, b):
        return x + a.random(), b.random(), a.random()

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    ours, eagers = random.Random(5), random.Random(5)
    for _ in range(2):
        got, wanted = compiled(x, ours, ours), fn(x, eagers, eagers)
        torch.testing.assert_close(got[0], wanted[0])
        assert got[1:] == wanted[1:]


def test_one_that_is_made_here_begins_anew_in_each_call():
    def fn(x):
        rng = random.Random("seed")
        return x.sin() + rng.random(), rng.randint(0, 99), rng

    def numbers(x):
        y, number, rng = fn(x)
        return y, number, rng.random()

    check(numbers, x, graphs=1)
    y, number, rng = suture.compile(fn, backend="eager", fullgraph=True)(x)
    assert type(rng) is random.Random
    wanted = random.Random("seed")
    torch.testing.assert_close(y, x.sin() + wanted.random())
    assert number == wanted.randint(0, 99)
    assert rng.getstate() == wanted.getstate()


def test_methods_without_a_model_are_called_by_python_in_order():
    def fn(x):
        rng = random.Random(3)
        first = rng.random()
        items = [1, 2, 3, 4]
        rng.shuffle(items)
        return x.sin() * first, items, rng.random()

    check(fn, x, graphs=2, breaks=["GB0007"])


def test_a_generator_is_put_back_when_the_region_runs_again():
    def fn(x, rng):
        y = x + rng.random()
        if y.sum() > 0:
            return y.sin(), rng.random()
        return y.cos(), rng.random()

    compiled = suture.compile(fn, backend="eager")
    ours, eagers = random.Random(7), random.Random(7)
    for value in (x, x, x, -10 - x, x, -10 - x):
        got, wanted = compiled(value, ours), fn(value, eagers)
        torch.testing.assert_close(got[0], wanted[0])
        assert got[1] == wanted[1]


def test_a_class_of_the_program_draws_as_it_says():
    class Constant(random.Random):
        def random(self):
            return 0.5

    def fn(x, rng):
        return x + rng.uniform(2, 4)

    compiled = suture.compile(fn, backend="eager")
    torch.testing.assert_close(compiled(x, Constant()), x + 3)


def test_what_a_generator_refuses_is_the_programs_error():
    compiled = suture.compile(lambda x, rng: x + rng.randint(3, 1), backend="eager")
    with pytest.raises(ValueError, match="empty range"):
        compiled(x, random.Random(1))
