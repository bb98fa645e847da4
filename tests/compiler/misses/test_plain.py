"""Long plain Python is left to Python; what gets tensors is compiled at the same place."""

from __future__ import annotations

import random

import pytest
import torch

import suture
from tests.harness import check

SCALES = {"a": 2}


@pytest.fixture(autouse=True)
def traced():
    """What is traced of plain Python is asked here."""
    with suture.config.patch(trace_tensor_free=True):
        yield


def mixed(start, turns):
    value = start
    for turn in range(turns):
        value = value * 2 + turn if turn % 3 else value + 1
        value = value - turn * SCALES["a"]
    return value


def test_a_long_loop_over_numbers_runs_in_python():
    graphs = check(mixed, 1, 400, graphs=0, interpreted=1)
    assert graphs.numbers == ("GB2092",)


def test_tensors_are_compiled_where_numbers_were_left_to_python():
    suture.reset()
    compiled = suture.compile(mixed, backend="eager")
    assert compiled(1, 400) == mixed(1, 400)
    assert suture.stats().variants == 0
    x = torch.ones(3, dtype=torch.float64)
    torch.testing.assert_close(compiled(x, 10), mixed(x, 10))
    assert suture.stats().graphs == 1
    assert compiled(1, 401) == mixed(1, 401)
    assert suture.stats().variants == 1


def test_short_python_without_tensors_is_still_captured():
    check(mixed, 1, 5, graphs=0)


def test_functions_that_plain_python_calls_are_not_compiled_there():
    def add(a, b):
        return a + b

    def total(turns):
        value = 0
        for turn in range(turns):
            value = add(value, turn)
        return value

    check(total, 600, graphs=0, interpreted=1)
    assert suture.stats().variants == 0


def test_tensors_behind_a_long_loop_are_captured():
    def fn(turns, x):
        value = 0
        for turn in range(turns):
            value = (value * 31 + turn) % 1013
        return x * value

    check(fn, 400, torch.ones(3), graphs=1)


def test_reset_forgets_what_was_left_to_python():
    suture.reset()
    compiled = suture.compile(mixed, backend="eager")
    compiled(1, 400)
    compiled(1, 5)
    assert suture.stats().variants == 0
    suture.reset()
    assert compiled(1, 5) == mixed(1, 5)
    assert suture.stats().variants == 1


class Case:
    """An object that can be called, as the test cases of unittest can."""

    def __call__(self, turns):
        return self.run(turns)

    def run(self, turns):
        table = {}
        for turn in range(turns):
            table[turn] = turn
        copied = table.copy()
        copied["key"] = self.size(copied)
        return len(copied)

    def size(self, table):
        return len(table)


def test_a_method_of_an_object_that_can_be_called_is_left_to_python_too():
    check(Case().run, 900, graphs=0, interpreted=1)


def test_plain_python_is_not_traced_again_for_other_values():
    suture.reset()
    compiled = suture.compile(mixed, backend="eager")
    for turns in (5, 6, 7, 8, 5):
        assert compiled(1, turns) == mixed(1, turns)
    assert suture.stats().variants == 1
    x = torch.ones(3, dtype=torch.float64)
    torch.testing.assert_close(compiled(x, 10), mixed(x, 10))
    assert suture.stats().variants == 2


def test_a_compiled_function_leads_where_its_function_leads():
    @suture.compile(backend="eager")
    def plain(n):
        return n + SCALES["a"]

    @suture.compile(backend="eager")
    def tensors(n):
        return torch.ones(2) * n

    def calls_plain(turns):
        return sum(plain(turn) for turn in range(turns))

    def calls_tensors(turns):
        return sum(tensors(turn) for turn in range(turns))

    traced_again = []
    for fn in (calls_plain, calls_tensors):
        suture.reset()
        compiled = suture.compile(fn, backend="eager")
        for turns in (3, 4):
            expected, before = fn(turns), suture.stats().variants
            torch.testing.assert_close(compiled(turns), expected)
        traced_again.append(suture.stats().variants > before)
    assert traced_again == [False, True]


def test_drawn_numbers_do_not_earn_a_plain_loop_more_tracing():
    def fn(turns):
        total = 0
        for turn in range(turns):
            total += len([1 for _ in range(40)]) + int(random.random() < 2)
        return total

    check(fn, 200, graphs=0, interpreted=1)
