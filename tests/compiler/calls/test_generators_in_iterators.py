"""Generators below other iterators: a loop that is left drops the iterator, and the generator."""

from __future__ import annotations

import gc
import itertools

import pytest
import torch

import suture
from tests.harness import check

LOG: list[str] = []


def numbers():
    try:
        yield from (1, 2, 3)
    finally:
        LOG.append("closed")


class Progress:
    """As progress bars are: an object whose `__next__` takes from a generator."""

    def __init__(self, source):
        self.source = source

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.source)


ITERATORS = {
    "enumerate": lambda: enumerate(numbers()),
    "zip": lambda: zip(numbers(), itertools.count()),
    "map": lambda: map(abs, numbers()),
    "filter": lambda: filter(None, numbers()),
    "islice": lambda: itertools.islice(numbers(), 2),
    "chain": lambda: itertools.chain(numbers(), [2]),
    "two of them": lambda: enumerate(zip(numbers(), [3, 4])),
    "an object": lambda: Progress(numbers()),
}


def left_at_an_element(x, make):
    for count, _ in zip(range(5), make()):
        x = x + 1
        if count == 1:
            break
    LOG.append("after")
    return x


def left_by_data(x, make):
    for _ in make():
        x = x + 1
        if x.sum().item() > 5:
            break
    LOG.append("after")
    return x


def left_after_a_break(x, make):
    turns = 0
    for _ in make():
        x = x + 1
        turns += 1
        torch._dynamo.graph_break()
        if turns == 2:
            break
    LOG.append("after")
    return x


def dropped_later(x, make):
    items = make()
    next(items)
    x = x + x.sum().item()
    LOG.append("before")
    del items
    LOG.append("after")
    return x


# Inside one region, what the trace notes as changed keeps these until its end.
_KEPT = ("islice", "chain", "an object")
CASES = [(fn, name) for fn in (left_by_data, left_after_a_break) for name in ITERATORS]
CASES += [
    (fn, name)
    for fn in (left_at_an_element, dropped_later)
    for name in ITERATORS
    if name not in _KEPT
]


@pytest.mark.parametrize(("fn", "name"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_the_generator_ends_where_the_iterator_is_dropped(fn, name):
    gc.disable()
    try:
        LOG.clear()
        expected = fn(torch.ones(2), ITERATORS[name])
        logged = list(LOG)
        compiled = suture.compile(fn, backend="eager")
        for _ in range(3):
            LOG.clear()
            torch.testing.assert_close(compiled(torch.ones(2), ITERATORS[name]), expected)
            assert LOG == logged
    finally:
        gc.enable()


def test_enumerate_that_a_loop_leaves_is_one_graph():
    def fn(x):
        LOG.clear()
        for i, number in enumerate(numbers()):
            x = x + number
            if i == 1:
                break
        return x, list(LOG)

    check(fn, torch.ones(2))
