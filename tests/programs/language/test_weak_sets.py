"""Sets of weak references: guards keep no member, and changing one keeps it no longer."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import suture
from tests.harness import Graphs


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
