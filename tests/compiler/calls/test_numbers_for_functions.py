"""Numbers that change, as arguments of a torch.autograd.Function: one variant for all of them."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs


class Assign(torch.autograd.Function):
    """Writes into the memory of its first argument, at an index."""

    @staticmethod
    def forward(ctx, scratch, value, index):
        ctx.index = index
        scratch.data[index] = value
        return scratch

    @staticmethod
    def backward(ctx, grad):
        return grad, grad[ctx.index], None


class Pick(torch.autograd.Function):
    """Takes one column times its number."""

    @staticmethod
    def forward(ctx, x, i):
        ctx.i, ctx.shape = i, x.shape
        return x[..., i] * i

    @staticmethod
    def backward(ctx, grad):
        given = grad.new_zeros(ctx.shape)
        given[..., ctx.i] = grad * ctx.i
        return given, None


class Dirty(torch.autograd.Function):
    """Says that it writes to its argument: the program's own forward is in the graph."""

    @staticmethod
    def forward(ctx, x, i):
        x.mul_(i)
        ctx.i = i
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.i, None


def assign(k, v, i):
    k = k * 1
    return Assign.apply(k, v, (..., i + 1)).sin(), k


def pick(k, v, i):
    return Pick.apply(k, i).sin() + v, k


def dirty(k, v, i):
    return Dirty.apply(k * 2, i) + v.sum(), k


@pytest.mark.parametrize("fn", [assign, pick, dirty])
def test_a_number_that_changes(fn):
    recorder = Graphs()
    compiled = suture.compile(fn, backend=recorder)
    for i in (1, 2, 3, 4, 5):
        k, v = torch.randn(4, 3, 7, requires_grad=True), torch.randn(4, 3, requires_grad=True)
        results = []
        for call in (fn, compiled):
            out, held = call(k, v, i)
            grads = torch.autograd.grad(out.sum() * 2 + held.sum(), (k, v))
            results.append((out, held, *grads))
        assert all(torch.equal(a, b) for a, b in zip(*results))
    assert len(recorder) == 2
    assert not suture.stats().breaks
