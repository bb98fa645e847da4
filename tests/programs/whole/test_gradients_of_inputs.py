"""Inputs that have a gradient already, with sizes that change: the gradient has the sizes of its
tensor, and nothing more is assumed of one that the program does not read."""

from __future__ import annotations

import torch

import suture
from tests.harness import Graphs


def _compiled(fn):
    suture.reset()
    graphs = Graphs()
    return suture.compile(fn, backend=graphs), graphs


def _with_gradient(size):
    x = torch.arange(float(size)).requires_grad_()
    x.grad = torch.ones(size)
    return x


def test_a_leaf_whose_gradient_is_not_read():
    def fn(x):
        return (x * 2).sum() * x.shape[0]

    compiled, graphs = _compiled(fn)
    for size in (2, 3, 4, 5):
        x = _with_gradient(size)
        torch.testing.assert_close(compiled(x), fn(x))
    assert len(graphs) == 2
    assert not suture.stats().interpreted


def test_a_tensor_that_keeps_its_gradient():
    def fn(y):
        return (y * 2).sum() * y.shape[0]

    compiled, graphs = _compiled(fn)
    for size in (2, 3, 4, 5):
        y = torch.ones(size, requires_grad=True) * 3
        y.retain_grad()
        y.sum().backward()
        torch.testing.assert_close(compiled(y), fn(y))
    assert len(graphs) == 2
    assert not suture.stats().interpreted


def test_a_gradient_that_is_read_has_guards_of_its_own():
    def fn(x):
        return x * 2 + x.grad[: x.shape[0]]

    compiled, graphs = _compiled(fn)
    for size in (2, 3, 4, 5):
        x = _with_gradient(size)
        torch.testing.assert_close(compiled(x), fn(x))
    assert len(graphs) == 2
    x = _with_gradient(4)
    x.grad.resize_(9).fill_(3.0)  # torch allows it
    torch.testing.assert_close(compiled(x), fn(x))
