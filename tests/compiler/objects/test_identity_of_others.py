"""Objects that were two while tracing may be one at a later call: which they are is guarded."""

from __future__ import annotations

import collections
import weakref

import numpy as np
import pytest
import torch

import suture
from tests.harness import check

X = torch.ones(2)


class Point:
    def move(self):
        pass


def make():
    def wave(x):
        return x.sin()

    return wave


FIRST = {"function": make(), "object": Point(), "list": [1]}
SECOND = {"function": make(), "object": Point(), "list": [1]}
HELD = None


def is_it(x, given):
    return x.sin(), given is HELD


def same_id(x, given):
    return x.sin(), id(given) == id(HELD)


def id_as_key(x, given):
    return x.sin(), {id(given): 1}.get(id(HELD))


def ids_in_a_set(x, given):
    return x.sin(), len({id(given), id(HELD)})


def id_itself(x, given):
    return x.sin(), id(given)


def as_key(x, given):
    return x.sin(), {given: 1}.get(HELD)


def in_a_set(x, given):
    return x.sin(), HELD in {given}


def in_a_tuple(x, given):
    return x.sin(), {(given, 1): 2}.get((HELD, 1)), len({(1, (given,)), (1, (HELD,))})


def in_two_sets(x, given):
    return x.sin(), {given} == {HELD}, {given}.isdisjoint({HELD}), len({given} | {HELD})


def in_a_frozenset(x, given):
    return x.sin(), {frozenset([given]): 1}.get(frozenset([HELD])), len(set([given, HELD]))


def put_into_a_dict(x, given):
    table = {(given, "key"): 1}
    table[HELD, "key"] = 2
    return x.sin(), list(table.values())


@pytest.mark.parametrize("kind", FIRST)
@pytest.mark.parametrize(
    "fn",
    [
        is_it, same_id, id_as_key, ids_in_a_set, id_itself, as_key, in_a_set, in_a_tuple,
        in_two_sets, in_a_frozenset, put_into_a_dict,
    ],
)  # fmt: skip
def test_another_object_gets_another_answer(fn, kind, monkeypatch):
    if kind == "list" and fn not in (is_it, same_id, id_as_key, ids_in_a_set, id_itself):
        pytest.skip("lists are no keys")
    monkeypatch.setitem(globals(), "HELD", FIRST[kind])
    compiled = suture.compile(fn, backend="eager")
    for given in (FIRST, SECOND, FIRST, SECOND):
        assert compiled(X, given[kind])[1] == fn(X, given[kind])[1]


def test_functions_as_keys_are_captured():
    first, second = make(), make()

    def fn(x, one, other):
        table = {one: 1, other: 2}
        return x * table[one] + table[other]

    check(fn, X, first, second, ops=[["mul", "add"]])


@pytest.mark.parametrize("make", [lambda: Point().move, lambda: np.zeros(2), lambda: slice(1)])
def test_methods_arrays_and_slices_that_were_two_are_one(make):
    first, second = make(), make()
    compiled = suture.compile(lambda x, a, b: (x.sin(), a is b), backend="eager")
    for a, b in ((first, second), (first, first), (second, second), (second, first)):
        assert compiled(X, a, b)[1] is (a is b)


def test_one_item_that_differs_is_enough():
    """Objects in keys that other items tell apart may be any: nothing is guarded."""

    def fn(x, a, b):
        return x.sin(), len({(a, 1), (b, 2)})

    suture.reset()
    first, second = make(), make()
    compiled = suture.compile(fn, backend="eager")
    assert compiled(X, first, second)[1] == compiled(X, first, first)[1] == 2
    assert suture.stats().graphs == 1


TABLES = {
    "a dict": (lambda a: {a: 2}, lambda t, o: t.get(o, 0)),
    "tuples as keys": (lambda a: {(a, 1): 2}, lambda t, o: t.get((o, 1), 0)),
    "frozensets as keys": (lambda a: {frozenset([a]): 2}, lambda t, o: t.get(frozenset([o]), 0)),
    "ids as keys": (lambda a: {id(a): 2}, lambda t, o: t.get(id(o), 0)),
    "a set": (lambda a: {a}, lambda t, o: o in t),
    "a weak dict": (lambda a: weakref.WeakKeyDictionary({a: 2}), lambda t, o: t.get(o, 0)),
    "a weak set": (lambda a: weakref.WeakSet([a]), lambda t, o: o in t),
    "references": (lambda a: [weakref.ref(a)], lambda t, o: t[0]() is o),
    "an ordered dict": (lambda a: collections.OrderedDict({a: 2}), lambda t, o: t.get(o, 0)),
    "a large dict": (lambda a: {a: 2, **{Point(): 3 for _ in range(20)}}, lambda t, o: o in t),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make_key", [Point, make, lambda: torch.nn.Linear(1, 1)])
def test_an_object_that_was_absent_is_found_by_the_next_call(kind, make_key):
    """The object that comes first is not in the table: another of its class may be."""
    build, ask = TABLES[kind]
    first, second = make_key(), make_key()
    table = build(first)

    def held(x, given):
        return x.sin(), ask(table, given)

    def passed(x, given, table):
        return x.sin(), ask(table, given)

    compiled, other = (suture.compile(fn, backend="eager") for fn in (held, passed))
    for given in (second, first, second, first):
        assert compiled(X, given)[1] == ask(table, given)
        assert other(X, given, table)[1] == ask(table, given)


def test_bound_methods_of_the_same_object_are_one_key():
    first, second = Point(), Point()
    table = {first.move: 1}
    compiled = suture.compile(lambda x, m: (x.sin(), table.get(m, 0)), backend="eager")
    for of, answer in ((second, 0), (first, 1), (second, 0), (first, 1)):
        assert compiled(X, of.move)[1] == answer


def test_what_was_counted_in_a_weak_dict_goes_on():
    counts = weakref.WeakKeyDictionary()

    def fn(x, given):
        counts[given] = counts.get(given, 0) + 1
        return x * counts[given], len(counts)

    first, second = Point(), Point()
    compiled = suture.compile(fn, backend="eager")
    for given, number in ((first, 1), (second, 1), (first, 2), (first, 3), (second, 2)):
        assert compiled(X, given)[0][0] == number


def test_a_weak_reference_to_what_was_dropped_is_dead():
    def lost():
        return weakref.ref(Point())

    def fn(x, drop):
        point, kept = Point(), Point()
        ref, other = weakref.ref(point), weakref.ref(kept)
        alive = ref() is point
        if drop:
            del point
        y = x + 1
        of_tensor = weakref.ref(y)
        del y
        held = [kept]
        del kept
        return (
            x * 2,
            alive,
            ref() is None,
            lost()() is None,
            of_tensor() is None,
            other() is held[0],
        )

    check(fn, X, True)
    check(fn, X, False)


def test_a_parameter_is_found_among_those_of_a_module():
    """None of them is in the graph: that they are others is a guard of its own."""
    layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    other = torch.nn.Parameter(torch.ones(2))

    def fn(x, given):
        return x.sin(), [name for name, p in layers.named_parameters() if p is given]

    compiled = suture.compile(fn, backend="eager")
    for given in (other, layers[0].bias, layers[1].bias, other):
        assert compiled(X, given)[1] == fn(X, given)[1]


def test_small_numbers_that_change_are_one_object():
    compiled = suture.compile(lambda x, a, b: (x + a, a is b, a is not b), backend="eager")
    for a, b in ((1, 2), (3, 4), (7, 7), (5, 6), (7, 7)):
        assert compiled(X, a, b)[1:] == (a == b, a != b)
