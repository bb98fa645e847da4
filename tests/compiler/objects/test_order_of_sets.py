"""The order of sets, and of what is put in later, is that of tables that went through the same."""

from __future__ import annotations

import random

import pytest
import torch

import suture
from tests.harness import check

X = torch.ones(2)
MEMBERS = ["a", "b", "c", "d", "e", "f", "g", "h", 1, 2, 3, 8, 16, 33, 32, 64, 1.5]
CHANGES = {
    "pop": lambda s, t: (s and s.pop(), s)[1],
    "add": lambda s, t: (s.add("zz"), s)[1],
    "discard": lambda s, t: (s.discard("b"), s.discard(8), s)[2],
    "list": lambda s, t: (s.update(["x1", "x2"]), s)[1],
    "dict": lambda s, t: (s.update({"x3": 1, "x4": 2}), s)[1],
    "written": lambda s, t: s | {"y1", "y2", "y3"},
    "in place": lambda s, t: (s.update(t), s)[1],
    "common": lambda s, t: (s.intersection_update({"a", "b", "c", 1, 2, 8, 64}), s)[1],
    "less": lambda s, t: s - {"a", 1, 33},
    "less in place": lambda s, t: (s.difference_update(t), s)[1],
    "either": lambda s, t: s ^ t,
    "other first": lambda s, t: t | s,
    "copy": lambda s, t: s.copy(),
    "again": lambda s, t: set(s),
    "clear": lambda s, t: (s.clear(), s)[1],
    "break": lambda s, t: (suture.graph_break(), s)[1],
}


def left(of):
    """The order, and that in which the members are taken out."""
    return list(of), [of.pop() for _ in range(len(of))]


@pytest.mark.parametrize("made_inside", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_random_changes_leave_the_order_of_eager(seed, made_inside):
    rng = random.Random(seed)
    one, other = (rng.choices(MEMBERS, k=rng.randrange(n)) for n in (9, 6))
    changes = [CHANGES[name] for name in rng.choices(list(CHANGES), k=5)]

    def fn(x, s, t):
        if made_inside:
            s = set(one) | {100, "q"}
        for change in changes:
            s = change(s, t)
        return x + 1, s

    runs = []
    for run in (fn, suture.compile(fn, backend="eager")):
        s, t = set(one), set(other)
        made = run(X, s, t)[1]
        runs.append([left(of) for of in (made, s, t)])
    assert runs[0] == runs[1]


def test_a_made_set_that_lost_members_is_captured():
    def fn(x):
        s = set([1, 9, 17, 25]) | {100, "q"}
        s.discard(9)
        s.add(33)
        s.discard(1)
        return x + len(s), list(s), s

    check(fn, X, fullgraph=True)


class Number(int):
    pass


def test_members_that_count_as_numbers_stay_the_objects_they_are():
    number = Number(8)

    def fn(x, s):
        s.add(number)
        s.discard(1)
        return x + 1, {number, 3}, s | {5}

    compiled = suture.compile(fn, backend="eager")
    given = {1, 2}
    for made in (*compiled(X, given)[1:], given):
        assert [type(m) for m in made if m == 8] == [Number]
    assert given == {2, 8}
