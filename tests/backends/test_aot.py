"""Gradients and mutation come out right through AOTAutograd."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

import suture
from suture.compiler.graph.compiling import takes_lstm_apart
from tests.harness import check


def aot(fn, *args, **options):
    return check(fn, *args, graphs=None, breaks=None, backend="aot_eager", **options)


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


def test_gradients_of_inputs():
    aot(lambda x, y: (x.sin() @ y).relu(), leaf(3, 4), leaf(4, 2))


def test_written_input():
    def fn(x):
        x.add_(1)
        x[0] = 5
        return x * 2

    aot(fn, torch.randn(3, 4))


def test_input_returned_after_a_write():
    def fn(x):
        return x.mul_(2)

    aot(fn, torch.randn(3))


def test_view_of_an_input_is_returned():
    aot(lambda x: x.view(-1), leaf(3, 4))


def test_no_grad_inside():
    def fn(x):
        with torch.no_grad():
            y = x * 2
        return y, x * 3

    aot(fn, leaf(3))


def test_data_of_a_parameter_is_written():
    def fn(x):
        x.data.mul_(2)
        return x + 1

    aot(fn, leaf(3))


def test_batch_norm_buffers():
    aot(nn.BatchNorm1d(4), torch.randn(5, 4))


def test_dropout_draws_the_same_numbers():
    aot(lambda x: F.dropout(x, 0.5), leaf(8))


def test_break_between_two_graphs_keeps_gradients():
    def fn(x):
        y = x.sin()
        suture.graph_break()
        return y.exp()

    aot(fn, leaf(3))


class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * ctx.factor, None


def test_autograd_function():
    aot(lambda x: Triple.apply(x.sin(), 3).sum(), leaf(3))


def test_transforms():
    aot(lambda x, w: torch.vmap(lambda row: (row @ w).sin())(x), leaf(3, 4), leaf(4, 4))
    aot(lambda x: torch.func.grad(lambda a: (a**3).sum())(x), leaf(3))


def test_checkpoint():
    def fn(x, w):
        return torch.utils.checkpoint.checkpoint(lambda a: (a @ w).sin(), x, use_reentrant=False)

    aot(fn, leaf(3, 4), leaf(4, 4))


def test_cond():
    aot(lambda x: torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,)), torch.ones(3))


def test_autocast():
    def fn(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x

    aot(fn, torch.randn(3, 3))


def test_lstm():
    aot(nn.LSTM(4, 3), torch.randn(5, 2, 4))


@pytest.mark.parametrize("fn", [lambda x: x.sin().exp().sum(), lambda x: F.layer_norm(x, (4,))])
def test_inductor(fn):
    check(fn, leaf(3, 4), graphs=None, breaks=None, backend="inductor")


@pytest.mark.skipif(not takes_lstm_apart(), reason="torch 2.11 takes LSTMs apart wrongly")
@pytest.mark.parametrize("train", [True, False])
def test_an_lstm_is_trained_by_its_graph(train, monkeypatch):
    from suture import runtime

    failures = []
    called = runtime.AfterFailure.__call__

    def noted(self, error, *state):
        failures.append(error)
        return called(self, error, *state)

    monkeypatch.setattr(runtime.AfterFailure, "__call__", noted)
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True).train(train)
    compiled = suture.compile(lambda x: lstm(x)[0], backend="aot_eager")
    x = torch.randn(2, 5, 3)
    gradients = []
    for function in (lambda x: lstm(x)[0], compiled):
        lstm.zero_grad()
        function(x).sum().backward()
        gradients.append([p.grad.clone() for p in lstm.parameters()])
    torch.testing.assert_close(*gradients)
    assert not failures
    assert torch._C._get_mkldnn_enabled()


def test_overlapping_inputs_that_change_with_symbolic_sizes():
    def fn(a, b, c):
        a.mul_(2)
        return a + b + c

    compiled = suture.compile(fn, backend="aot_eager", dynamic=True)
    for parts in ((0, 4, 10), (0, 4, 8), (0, 5, 10)):
        ours, eager = torch.arange(20.0), torch.arange(20.0)
        given = compiled(*(ours[i : i + 5] for i in parts))
        assert torch.equal(given, fn(*(eager[i : i + 5] for i in parts)))
        assert torch.equal(ours, eager)


def test_sizes_marked_as_unbacked_belong_to_no_operation():
    def fn(x):
        return torch.concat([x, x], dim=0) + 1

    x = torch.randn(6, 4, requires_grad=True)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    made = suture.compile(fn, backend="aot_eager", fullgraph=True)(x)
    assert torch.equal(made, fn(x))
    made.sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 2))
