"""`obj.__dict__` with keys that no attribute has."""

import torch

import suture
from tests.harness import check


class Plain:
    pass


def numbered():
    made = Plain()
    made.__dict__[1] = 2
    made.name = 3
    return made


def test_they_are_read_with_the_others():
    def fn(x, obj):
        held = obj.__dict__
        return x + 1, len(held), list(held), held == {1: 2, "name": 3}, held.get(1), 1 in held

    check(fn, torch.ones(1), numbered(), graphs=1, breaks=None)


def test_one_that_is_put_in():
    def fn(x):
        obj = Plain()
        obj.__dict__[5] = 6
        obj.name = 7
        return x + 1, obj.__dict__ == {5: 6, "name": 7}, obj.__dict__.get(5)

    check(fn, torch.ones(1), graphs=None, breaks=None)


def test_one_that_comes_at_a_later_call():
    def fn(x, obj):
        return x + 1 if 5 in obj.__dict__ else x - 1

    compiled = suture.compile(fn, backend="eager")
    obj = Plain()
    obj.name = 1
    assert compiled(torch.ones(1), obj).item() == 0
    obj.__dict__[5] = 6
    assert compiled(torch.ones(1), obj).item() == 2
