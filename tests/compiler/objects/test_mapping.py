"""Dicts and sets with keys that say themselves how they hash and compare."""

from __future__ import annotations

import dataclasses

import torch

from tests.harness import check


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return self.n % 3

    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: str = "b"


def test_keys_with_their_own_hash():
    def fn(x):
        table = {Key(1): 1, Key(4): 2}
        table[Key(1)] = 5
        return x + table[Key(1)] + table[Key(4)], Key(7) in table, len(table)

    check(fn, torch.ones(2))


def test_frozen_dataclasses_as_keys():
    def fn(x):
        table = {Frozen(1): x, Frozen(2): x + 1}
        return table[Frozen(1)] + table[Frozen(2)], Frozen(3) in table, {Frozen(1), Frozen(1)}

    check(fn, torch.ones(2))


def test_dict_from_outside_with_such_keys():
    def fn(x, table):
        return x + table[Frozen(1)]

    check(fn, torch.ones(2), {Frozen(1): 3}, graphs=None, breaks=None)


def test_key_without_hash():
    def fn(x):
        try:
            {[]: 1}
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2))


def test_set_is_found_in_a_set_of_frozensets():
    def fn(x):
        return x + 1, {1, 2} in {frozenset({1, 2})}

    check(fn, torch.ones(2))


def test_frozenset_has_no_add():
    def fn(x):
        return x + 1, hasattr(frozenset(), "add"), hasattr({}, "move_to_end")

    check(fn, torch.ones(2))


def test_items_view_knows_its_pairs():
    def fn(x):
        items = {"a": 1}.items()
        return x + 1, ("a", 1) in items, ("a", 2) in items, "a" in items

    check(fn, torch.ones(2))


def test_a_dict_may_have_any_names():
    def fn(x):
        made = dict(name=x + 1, self=2, trace=3, value=4, args=5)
        made.update(name=x + 2, kwargs=6)
        return made

    check(fn, torch.ones(2))
