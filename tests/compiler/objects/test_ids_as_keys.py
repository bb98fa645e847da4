"""id() of an object as a key: caches by identity, in dicts and sets of any origin."""

from __future__ import annotations

import collections

import pytest
import torch

import suture
from tests.harness import check


def removed(x):
    d = {id(x): 1}
    return d.pop(id(x)), len(d), x + 1


def deleted(x):
    d = {id(x): 1}
    del d[id(x)]
    return d, x + 1


def in_tuples(x):
    y = x + 1
    d = {(id(x), 1): "x", (id(y), 2): "y"}
    return d[(id(x), 1)], (id(y), 2) in d, (id(x), 2) in d, d.pop((id(y), 2)), len(d), y


def in_a_set(x):
    y = x + 1
    s = {id(x), id(y), id(x)}
    s.discard(id(y))
    return len(s), id(x) in s, id(y) in s, y


def seen_before(x):
    seen: dict[int, int] = {}
    out = []
    for t in [x, x + 1, x]:
        out.append(seen.setdefault(id(t), len(seen)))
    return out, collections.Counter([id(x), id(x)])[id(x)], x + 1


@pytest.mark.parametrize("fn", [removed, deleted, in_tuples, in_a_set, seen_before])
def test_ids_in_containers_made_inside(fn):
    check(fn, torch.ones(2), graphs=1, calls=3)


def put_into_dict(x, d):
    d[id(x)] = len(d)
    return d.get(id(x)), id(x) in d, len(d), x + 1


def taken_from_dict(x, d):
    return d.pop(id(x), None), d.pop((id(x), "a"), None), len(d), x + 1


def put_in_a_tuple(x, d):
    key = (id(x), "a")
    if key not in d:
        d[key] = len(d)
    return d[key], len(d), x + 1


def put_into_set(x, d):
    s = d.setdefault("set", set())
    s.add(id(x))
    found = id(x) in s, len(s)
    return found, x + 1


def taken_from_set(x, d):
    s = d.setdefault("set", set())
    s.discard(id(x))
    return id(x) in s, len(s), x + 1


def joined_with_set(x, d):
    s = d.setdefault("set", set())
    return {id(x)} <= s, len(s | {id(x)}), len({id(x)} - s), {id(x)} == s, x + 1


def numbers_beside(x, d):
    numbers = {k: 1 for k in d}
    return id(x) in numbers, {**d, id(x): 1}.keys() == d.keys(), x + 1


PROGRAMS = [
    put_into_dict, put_in_a_tuple, put_into_set, joined_with_set, numbers_beside, taken_from_set,
    taken_from_dict,
]  # fmt: skip


@pytest.mark.parametrize("first", range(len(PROGRAMS)))
def test_a_cache_by_identity_that_lives_longer_than_a_call(first):
    """The same calls in the same order, on one dict for eager and one for compiled."""
    suture.reset()
    tensors = [torch.ones(2), torch.zeros(2), torch.ones(2)]
    plain: dict = {}
    ours: dict = {}
    compiled = {fn: suture.compile(fn, backend="eager") for fn in PROGRAMS}
    for fn in PROGRAMS[first:] + PROGRAMS[:first]:
        for x in tensors + tensors[:2]:
            assert str(fn(x, plain)) == str(compiled[fn](x, ours)), fn.__name__
        assert plain == ours


def test_a_memo_of_objects_by_identity():
    class Memo:
        def __init__(self):
            self.table = {}

        def number(self, of, x):
            return self.table.setdefault((id(of), x.shape), len(self.table))

    memo = Memo()

    def fn(x):
        return memo.number(memo, x), len(memo.table), x + 1

    check(fn, torch.ones(2), graphs=None, recompiles=None, calls=3)
