"""Sets of weak references: guards keep no member, and changing one keeps it no longer."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import suture
from tests.harness import Graphs, check


class Observer:
    def __init__(self, scale):
        self.scale = scale
        self.last = None

    def see(self, x):
        self.last = x
        return x * self.scale


def by_scale(observer):
    return observer.scale


def listed(x, observers):
    here = Observer(10)
    observers.add(here)
    y = x + len(list(observers))
    del here
    return y, len(observers)


def changed(x, observers):
    here = Observer(10)
    observers.add(here)
    seen = [observer.see(x) for observer in sorted(observers, key=by_scale)]
    del here
    return seen, len(observers)


@pytest.mark.parametrize("fn", [listed, changed], ids=lambda fn: fn.__name__)
def test_a_member_goes_where_the_program_drops_it(fn):
    kept = [Observer(1), Observer(2)]
    gc.disable()
    try:
        plain = weakref.WeakSet(kept)
        expected = [fn(torch.ones(1), plain) for _ in range(3)]
        ours = weakref.WeakSet(kept)
        compiled = suture.compile(fn, backend="eager")
        for wanted in expected:
            torch.testing.assert_close(compiled(torch.ones(1), ours), wanted)
    finally:
        gc.enable()


def test_what_a_set_of_references_was_compiled_for_is_not_kept():
    graphs = Graphs()
    kept = [Observer(1), Observer(2)]
    observers = weakref.WeakSet(kept)

    def fn(x):
        for observer in observers:
            x = x * observer.scale
        return x

    compiled = suture.compile(fn, backend=graphs)
    for _ in range(3):
        assert compiled(torch.ones(1)).item() == 2
    assert len(graphs) == 1, "the same members in the same order are a hit"
    kept.pop()
    assert len(observers) == 1
    assert compiled(torch.ones(1)).item() == 1
    assert len(graphs) == 2


def copied(x, of):
    for number in of.copy():
        x = x * number + 1
    return x


def copied_and_left(x, of):
    for number in of.copy():
        x = x * number + 1
        suture.graph_break()
    return x


def copied_and_gone_through_twice(x, of):
    made = of.copy()
    first = list(made)
    suture.graph_break()
    return x + 1, first, list(made)


@pytest.mark.parametrize("fn", [copied, copied_and_left, copied_and_gone_through_twice])
def test_a_copy_of_a_set_has_the_order_that_python_gives_it(fn):
    """A table with room for more members than it has is copied into a smaller one."""
    sparse = set(range(0, 4000, 7))
    sparse -= set(range(700, 4000))
    scattered = {8, 0, 16, 3, 11, 5000, 72}
    compiled = suture.compile(fn, backend="eager")
    for of in (scattered, sparse, scattered, {3, 1, 2}, {9, 1, 17}):
        x = torch.ones(1, dtype=torch.float64)
        torch.testing.assert_close(compiled(x, of), fn(x, of))


def test_a_loop_over_a_copy_is_one_graph():
    check(copied, torch.ones(1), {8, 0, 16, 3, 11}, graphs=1)


class Copying:
    """Its members are gone through in a copy, as those of a WeakSet are from 3.14 on."""

    def __init__(self, members):
        self.data = {weakref.ref(member) for member in members}

    def __iter__(self):
        for reference in self.data.copy():
            member = reference()
            if member is not None:
                yield member


def test_references_in_a_copied_set_are_one_graph():
    kept = [Observer(1), Observer(2), Observer(3)]

    def fn(x, members):
        for member in members:
            x = x * member.scale + 1
        return x

    graphs = Graphs()
    members = Copying(kept)
    compiled = suture.compile(fn, backend=graphs)
    for _ in range(3):
        torch.testing.assert_close(compiled(torch.ones(1), members), fn(torch.ones(1), members))
    assert len(graphs) == 1
