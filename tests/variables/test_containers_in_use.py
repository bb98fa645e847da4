"""Containers whose methods run code of the program, and views of dicts that come from outside."""

from __future__ import annotations

import collections

import torch

import suture
from tests.harness import check


def test_extend_shows_each_item_to_the_iterator_behind_it():
    def fn(x):
        sums = [1]
        sums.extend(map(lambda n: n + sums[-1], range(4)))
        ends = collections.deque([1], maxlen=3)
        ends.extendleft(n + ends[0] for n in range(4))
        ends.extend(n + ends[-1] for n in range(2))
        return x + sums[-1], sums, ends

    check(fn, torch.ones(2), graphs=1)


def test_extend_keeps_what_came_before_an_error():
    def fn(x):
        items = []

        def numbers():
            yield 1
            yield 2
            raise ValueError("three")

        try:
            items.extend(numbers())
        except ValueError:
            x = x + len(items)
        return x, items

    check(fn, torch.ones(2), graphs=1)


def test_views_of_a_dict_are_arguments():
    held = {"a": 1, "b": 2}
    keys, values, items = held.keys(), held.values(), held.items()

    def fn(x):
        return x * len(keys), "a" in keys, list(values), dict(items)

    check(fn, torch.ones(2), graphs=1)


def test_view_follows_its_dict_between_calls():
    def fn(x, keys):
        return x + len(keys)

    held = {"a": 1}
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(1), held.keys()).item() == 1
    held["b"] = 2
    assert compiled(torch.zeros(1), held.keys()).item() == 2


def test_fromkeys_of_classes_that_derive_from_dict():
    class Loud(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value * 2)

    def fn(x):
        counts = collections.defaultdict.fromkeys(["a", "b"], 3)
        return x * counts["a"], Loud.fromkeys([1], 4)[1], type(Loud.fromkeys([])) is Loud

    check(fn, torch.ones(2), graphs=1)


def test_set_can_be_set_up_again():
    def fn(x):
        changed, fixed = {1, 2}, frozenset({1, 2})
        changed.__init__([3])
        fixed.__init__([3])
        return x + len(changed) + len(fixed), changed, fixed

    check(fn, torch.ones(2), graphs=1)
