"""Tuples that get longer in each turn of a loop that breaks."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check


def collected(x, layers, all_states=True):
    states = () if all_states else None
    for i in range(layers):
        if all_states:
            states = states + (x,)
        if x.sum() > 1e6:
            continue
        x = x * 0.5 + i
    return x, states


def test_collecting_states_compiles_a_turn_once():
    suture.reset()
    compiled = suture.compile(collected, backend="eager")
    for layers in (12, 20):
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x, layers), collected(x, layers))
    stats = suture.stats()
    assert not stats.interpreted
    assert stats.graphs <= 8


def added_in_place(x):
    states = ()
    for _ in range(4):
        states += (x, x + 1)
        if x.sum() > 1e6:
            break
        x = x + 1
    return states[0], states[-1], len(states), states


def joined(x):
    states = (1, x)
    for _ in range(3):
        if x.sum() > 1e6:
            break
        longer = states + (x,)
        other = states + longer
        states, x = longer + (), x + 1
    return states, other, longer, other[1:3], states == longer, x in ()


def read_after_growing(x):
    states = ()
    for _ in range(3):
        if x.sum() > 1e6:
            break
        states = states + (x,)
        first, *rest = states
        x = x + first + len(rest)
    return states, bool(states), hash(()), [s is states[0] for s in states]


def branches_on_the_tuple(x):
    states = ()
    for _ in range(3):
        if x.sum() > 1e6:
            break
        if states:
            x = x + states[-1]
        states = states + (x,)
        if states:
            x = x * 2
    return x, states


def given_and_returned(x, given):
    kept = given
    if x.sum() > 1e6:
        return given
    given = given + (x,)
    return kept, given, kept is given


@pytest.mark.parametrize("fn", [added_in_place, joined, read_after_growing, branches_on_the_tuple])
def test_tuples_that_grow_hold_what_they_should(fn):
    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


@pytest.mark.parametrize("given", [(), (1, "a"), (torch.ones(2),)])
def test_a_tuple_that_was_given_stays_as_it_is(given):
    check(given_and_returned, torch.ones(2), given, graphs=None, breaks=["GB0170"])


def test_adding_what_is_no_tuple_raises():
    def fn(x, given):
        return given + [x]

    check(fn, torch.ones(2), (1,), graphs=None, breaks=None)
