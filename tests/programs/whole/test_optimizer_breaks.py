"""The breaks that torch's optimizers ask for around a step: only where a derivative is to come."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from tests.harness import Graphs


def run(make, steps=4, backend=None):
    """Calls of a function of a parameter and its optimizer, plain and compiled, compared."""
    suture.reset()
    graphs, seen = Graphs(), []
    for compiled in (False, True):
        torch.manual_seed(0)
        w = nn.Parameter(torch.randn(4))
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        w.grad = torch.ones(4)
        fn = make(w, optimizer)
        call = suture.compile(fn, backend=backend or graphs) if compiled else fn
        made = []
        for i in range(steps):
            out = call(torch.arange(4.0) + i)
            if isinstance(out, torch.Tensor) and out.requires_grad:
                out.sum().backward()
            made.append(out)
        seen.append((made, w, w.grad))
    torch.testing.assert_close(*seen)
    return len(graphs), [record.number for record in suture.stats().breaks]


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_step_alone_is_one_graph(backend):
    def make(w, optimizer):
        def fn(x):
            optimizer.step()

        return fn

    graphs, breaks = run(make, backend=backend)
    assert breaks == [] and graphs in (0, 2)  # with and without state


def test_what_has_no_derivative_goes_on_in_the_graph():
    def make(w, optimizer):
        def fn(x):
            before = (x * w).detach().sum()
            optimizer.step()
            return before + x.sum()

        return fn

    assert run(make) == (2, [])


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_graph_ends_between_a_step_and_what_has_a_derivative(backend):
    def make(w, optimizer):
        def fn(x):
            optimizer.step()
            return (w * x).sin()

        return fn

    assert set(run(make, backend=backend)[1]) == {"GB0025"}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_graph_ends_between_what_has_a_derivative_and_a_step(backend):
    def make(w, optimizer):
        def fn(x):
            y = x.sin() * w
            optimizer.step()
            return y

        return fn

    assert set(run(make, backend=backend)[1]) == {"GB0025"}
