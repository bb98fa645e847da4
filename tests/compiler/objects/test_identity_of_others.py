"""Objects that were two while tracing may be one at a later call: which they are is guarded."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check

X = torch.ones(2)


class Point:
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


@pytest.mark.parametrize("kind", FIRST)
@pytest.mark.parametrize(
    "fn", [is_it, same_id, id_as_key, ids_in_a_set, id_itself, as_key, in_a_set]
)
def test_another_object_gets_another_answer(fn, kind, monkeypatch):
    if kind == "list" and fn in (as_key, in_a_set):
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
