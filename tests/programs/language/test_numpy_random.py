"""Numbers and arrays from NumPy's own generator inside a compiled function."""

from __future__ import annotations

import random

import numpy
import pytest
import torch

import suture
from tests.harness import Graphs, same


def drawn_as_in_eager(fn, *, graphs=1, variants=1, backend=None):
    """Each call draws anew, what eager draws, and leaves the generator where eager does."""
    suture.reset()
    recorder = Graphs()
    compiled = suture.compile(fn, backend=backend or recorder)
    x = torch.randn(8, 9)
    for seed in range(5):
        outcomes = []
        for called in (fn, compiled):
            numpy.random.seed(seed)
            random.seed(seed)
            torch.manual_seed(seed)
            outcomes.append((called(x), numpy.random.rand(), random.random(), torch.rand(())))
        same(*outcomes, "result")
    if backend is None:
        assert len(recorder) == graphs, recorder.ops()
        assert suture.stats().variants == variants
    return suture.stats()


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_numbers_are_part_of_the_graph(backend):
    def fn(x):
        scale, shift = numpy.random.rand(), numpy.random.uniform(1, 2)
        return x * scale + shift + numpy.random.randint(3, 9), numpy.random.randn(), shift

    assert not drawn_as_in_eager(fn, backend=backend).breaks


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_arrays_are_inputs_of_the_graph(backend):
    def fn(x):
        noise = numpy.random.normal(0, 1, x.shape).astype(numpy.float32)
        noise[0] = 0
        order = numpy.random.permutation(8)
        kept = numpy.random.rand(3)
        kept += 1
        return x[torch.from_numpy(order)] + torch.from_numpy(noise), kept

    assert not drawn_as_in_eager(fn, backend=backend).breaks


def test_a_window_at_a_drawn_place_is_one_graph():
    def fn(x):
        start = numpy.random.randint(0, 4)
        return x[start : start + 4] * 2

    assert not drawn_as_in_eager(fn).breaks


def test_several_generators_are_drawn_from():
    def fn(x):
        return x * random.random() + numpy.random.rand() * torch.rand(())

    assert not drawn_as_in_eager(fn).breaks


def test_a_branch_on_a_drawn_number_breaks_and_draws_once():
    def fn(x):
        y = x.sin()
        if numpy.random.rand() < 0.5:
            y = y + 1
        return y * numpy.random.rand()

    stats = drawn_as_in_eager(fn, graphs=3, variants=3)
    assert {one.number for one in stats.breaks} == {"GB2010"}


def test_numbers_behind_a_seed_are_drawn_by_python():
    def fn(x):
        before = numpy.random.rand()
        numpy.random.seed(5)
        return x * numpy.random.rand() + before

    stats = drawn_as_in_eager(fn, graphs=2, variants=2)
    assert [one.number for one in stats.breaks] == ["GB0177"]


def test_wrong_arguments_raise_as_in_eager():
    def fn(x):
        return x * numpy.random.randint(5, 2)

    with pytest.raises(ValueError, match="low >= high"):
        suture.compile(fn, backend="eager")(torch.ones(2))
