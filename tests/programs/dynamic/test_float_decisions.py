"""Branches on floats go as Python's floats say: these round, may be infinite, and may be NaN."""

from __future__ import annotations

import math
from math import inf

import pytest
import torch

import suture
from tests.harness import Outcome, compare

VALUES = (1.5, 0.0, -0.0, 3.0, inf, -inf, math.nan, -2.5, 0.1)

QUESTIONS = {
    "less itself": lambda y: y - y == 0,
    "times zero": lambda y: 0 * y == 0,
    "times zero and more": lambda y: y * 0.0 + 1 == 1,
    "over itself": lambda y: y == 0 or y / y == 1,
    "twice": lambda y: y * 2 == y + y,
    "twice less once": lambda y: 2 * y - y == y,
    "one more": lambda y: y + 1 > y,
    "one less": lambda y: y - 1 < y,
    "below infinity": lambda y: y < inf,
    "at most infinity": lambda y: y <= inf,
    "above minus infinity": lambda y: y > -inf,
    "infinity": lambda y: y == inf,
    "not minus infinity": lambda y: y != -inf,
    "one of the infinite": lambda y: y in (inf, -inf),
    "with infinity": lambda y: (y + inf == inf, -inf + y == -inf, y * inf == inf),
    "over infinity": lambda y: (y // inf == 0, y / inf == 0, y % inf == y),
    "the lower": lambda y: min(y, -inf) == -inf,
    "the higher": lambda y: max(y, -inf) == y,
    "no less than zero": lambda y: (abs(y) >= 0, y * y >= 0),
    "away and back": lambda y: (y + 1e20) - 1e20 == y,
    "in other order": lambda y: (y + 0.1) + 0.2 == y + (0.1 + 0.2),
    "tenths": lambda y: y * 0.1 * 3 == y * 0.3,
    "a product of sums": lambda y: (y - 2) * (y + 2) == y * y - 4,
    "truth": lambda y: bool(y - y),
    "finite": lambda y: (math.isfinite(y), math.isinf(y * 1e308 * 10)),
    "rounded": lambda y: round(y, 1) if math.isfinite(y) else "infinite",
}


def branched(ask):
    def fn(y, x):
        told = ask(y)
        for part in told if isinstance(told, tuple) else (told,):
            x = x * 2 if part else x - 1
        return x, told

    return fn


def next_to_eager(fn, args_of):
    compiled = suture.compile(fn, backend="eager")
    for value in VALUES:
        eager = Outcome(fn, args_of(value), {})
        with suture.config.patch(strict=True):
            compare(eager, Outcome(compiled, args_of(value), {}), grads=False)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_float_that_is_an_argument(name):
    next_to_eager(branched(QUESTIONS[name]), lambda value: (value, torch.ones(2)))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_float_from_a_tensor(name):
    fn = branched(QUESTIONS[name])

    def program(t, x):
        return fn(t.item(), x)

    next_to_eager(program, lambda value: (torch.tensor(value, dtype=torch.float64), torch.ones(2)))


EXACT = {
    "less": lambda n, y: (n < y, y < n),
    "at most": lambda n, y: (n <= y, y <= n),
    "equal": lambda n, y: (n == y, y != n),
    "a sum": lambda n, y: (n + 1 == y, n - 1 < y),
    "a computed float": lambda n, y: (n == y * 1.0, n > y + 1),
    "a constant float": lambda n, y: (n == 2.0**53, n > 2.0**53),
    "a constant int": lambda n, y: (y == 2**53 + 1, y < 2**53 + 1),
    "one of some": lambda n, y: (n in (1.0, 2.0**53), [n] == [y]),
    "infinite": lambda n, y: (n < inf, n > -inf, n == math.nan, n != math.nan),
    "a key": lambda n, y: (n in {2.0**53: 1}, y in {n}),
    "the larger": lambda n, y: (max(n, y) is n, sorted([n, y])[0] is y),
}


@pytest.mark.parametrize("name", EXACT)
def test_an_int_that_is_no_double_is_compared_with_floats_as_it_is(name):
    ints = (3, 2**53, 2**53 + 1, -(2**53) - 1, 2**53 - 1, 2**60 + 1)
    floats = (1.5, 3.0, 2.0**53, -(2.0**53), 2.0**60, inf, math.nan)

    def fn(n, y, x):
        told = EXACT[name](n, y)
        for part in told:
            x = x * 2 if part else x - 1
        return x, told

    with suture.config.patch(recompile_limit=100):  # each of them by a variant
        compiled = suture.compile(fn, backend="eager")
        for n in ints:
            for y in floats:
                eager = Outcome(fn, (n, y, torch.ones(2)), {})
                with suture.config.patch(strict=True):
                    compare(eager, Outcome(compiled, (n, y, torch.ones(2)), {}), grads=False)


def test_a_chain_of_floats_that_grows_is_no_guard_without_end():
    def fn(x, a, b):
        for _ in range(40):  # written out, the last one has some hundred million terms
            a, b = b, (a + b) * 0.5
        return x + 1 if b > 1.0 else x - 1

    compiled = suture.compile(fn, backend="eager")
    for a in (0.5, 0.75, 1.5, 2.5):
        x = torch.ones(2)
        assert torch.equal(compiled(x, a, 1.0), fn(x, a, 1.0))


def test_an_item_of_a_size_from_data_is_asked_of_python():
    def fn(steps, t):
        at = (steps == t).nonzero().item()
        return steps * 2, at + 1

    compiled = suture.compile(fn, backend="eager")
    steps = torch.arange(5)
    for t in (0, 3, 4, 7):
        eager = Outcome(fn, (steps, t), {})
        with suture.config.patch(strict=True):
            compare(eager, Outcome(compiled, (steps, t), {}), grads=False)
