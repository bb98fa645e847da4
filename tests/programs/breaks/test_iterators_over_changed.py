"""Iterators that are alive at a break, over containers that the region has changed before."""

from __future__ import annotations

import collections

import pytest
import torch

import suture
from tests.harness import check


class Table(dict):
    pass


class Box:
    def __init__(self):
        self.a = 1


def over_keys(x, of):
    of.setdefault("e", []).append(1)
    for count, key in zip(range(3), of):
        x = x + count + len(key)
        suture.graph_break()
    return x, of


def over_items(x, of):
    of["z"] = 1
    of.pop("b", None)
    for key, value in of.items():
        x = x + value
        suture.graph_break()
        of[key] = value + 1
    return x, of


def over_what_is_left(x, of):
    of["z"] = 1
    left = iter(of.values())
    first = next(left)
    suture.graph_break()
    return x + first, list(left)


@pytest.mark.parametrize("fn", [over_keys, over_items, over_what_is_left])
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, Table])
def test_a_dict_that_has_grown(fn, kind):
    check(fn, torch.ones(2), kind(a=1, b=2), graphs=None, breaks=None, recompiles=None)
    check(fn, torch.ones(2), kind(), graphs=None, breaks=None, recompiles=None)


def test_a_defaultdict_whose_values_change():
    def fn(x, of):
        of["new"] += 3
        for key in of:
            x = x + of[key]
            suture.graph_break()
            of[key] += 1
        return x, of

    table = collections.defaultdict(int, a=1)
    check(fn, torch.ones(2), table, graphs=None, breaks=None, recompiles=None)


def test_a_set_that_has_grown():
    def fn(x, of):
        of.add(5)
        for member in of:
            x = x + member
            suture.graph_break()
        return x, sorted(of)

    for members in (set(), {1}, {1, 2}):
        check(fn, torch.ones(2), members, graphs=None, breaks=None, recompiles=None)


def test_a_deque_that_has_grown():
    def fn(x, of):
        of.append(5)
        left = enumerate(reversed(of))
        next(left)
        for item in of:
            x = x + item
            suture.graph_break()
        return x, list(left)

    check(fn, torch.ones(2), collections.deque([1, 2]), graphs=None, breaks=None, recompiles=None)


def test_the_dict_of_an_instance_that_has_a_new_attribute():
    def fn(x, box):
        box.z = 3
        for name, value in vars(box).items():
            x = x + value
            suture.graph_break()
        return x, list(box.__dict__)

    check(fn, make=lambda: (torch.ones(2), Box()), graphs=None, breaks=None, recompiles=None)


def test_attributes_that_are_set_while_the_dict_of_an_instance_is_iterated():
    def fn(x, box):
        for name in vars(box):
            suture.graph_break()
            box.more = x
        return x + 1

    check(fn, make=lambda: (torch.ones(2), Box()), graphs=None, breaks=None, recompiles=None)


def test_a_generator_over_a_dict_that_grows_behind_a_break():
    def fn(x, of):
        def keys():
            for key in of:
                yield key

        of["q"] = 1
        left = keys()
        next(left)
        suture.graph_break()
        try:
            of["r"] = 1
            return x + 1, list(left)
        except RuntimeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), {"a": 1, "b": 2}, graphs=None, breaks=None, recompiles=None)
