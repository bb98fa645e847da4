"""What follows a break in a generator and has nothing for a graph is left to its own frame."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import same

X = torch.tensor([1.0, 2.0])
LOG: list[str] = []


def driven(fn, drive=list):
    """What the program gives plainly and in three calls of the compiled function; its stats."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    LOG.clear()
    expected = drive(fn(X)), list(LOG)
    for _ in range(3):
        LOG.clear()
        same((drive(compiled(X)), list(LOG)), expected, "outcome")
    return suture.stats(), suture.code(compiled)


def yields(stats):
    return [(one.line, one.count) for one in stats.breaks if one.number == "GB0003"]


def test_the_frame_yields_without_a_variant_of_its_own():
    def fn(x):
        for scale in (1.0, 2.0, 3.0, 4.0):
            x = x * scale
            suture.graph_break()
            yield x

    stats, code = driven(fn)
    line = fn.__code__.co_firstlineno + 4
    assert yields(stats) == [(line, 1)], "told once, though several regions lead there"
    assert "leave(" in code
    assert "point_" + str(line) not in code, "no region begins at the yield"


def test_what_is_computed_before_the_yield_is_a_region():
    def fn(x):
        for scale in (1.0, 2.0, 3.0, 4.0):
            suture.graph_break()
            yield x * scale

    stats, _ = driven(fn)
    assert stats.graphs >= 1
    assert yields(stats)


def test_the_value_of_the_break_is_what_is_yielded():
    def fn(x):
        for name in ("a", "b", "c"):
            LOG.append(name)
            yield x.sin().tolist()

    driven(fn)


def test_a_generator_that_returns_behind_a_break():
    def fn(x):
        y = x + 1
        yield y
        suture.graph_break()
        return y

    def drive(generator):
        got = [next(generator)]
        with pytest.raises(StopIteration) as stopped:
            next(generator)
        return [*got, stopped.value.value]

    driven(fn, drive)


def test_a_yield_in_a_handler_still_handles_its_exception():
    def fn(x):
        try:
            y = x * 2
            suture.graph_break()
            raise ValueError("mine")
        except ValueError:
            z = y + 1
            suture.graph_break()
            yield z
            suture.graph_break()
            yield z
            try:
                raise
            except ValueError as again:
                LOG.append(str(again))

    driven(fn)


def test_yields_are_told_again_after_a_reset():
    def fn(x):
        y = x + 1
        suture.graph_break()
        yield y

    assert len(yields(driven(fn)[0])) == 1
    assert len(yields(driven(fn)[0])) == 1
