"""A hook is called where its tensor is differentiated, and not for other results of its region."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs


def fixed_point(layer, x):
    """The gradient of a fixed point, as a hook computes it from one more step."""
    with torch.no_grad():
        z = torch.tanh(0.5 * layer(torch.zeros_like(x)) + x)
    z = torch.tanh(0.5 * layer(z) + x)
    start = z.clone().detach().requires_grad_()
    once = torch.tanh(0.5 * layer(start) + x)

    def hook(gradient):
        y = gradient
        for _ in range(3):
            y = torch.autograd.grad(once, start, y, retain_graph=True)[0] + gradient
        return y

    z.register_hook(hook)
    loss = z.pow(2).sum()
    loss.backward()
    return loss.detach()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_hook_that_differentiates_another_result(backend):
    found = []
    for compiler in (lambda fn: fn, lambda fn: suture.compile(fn, backend=backend)):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 3)
        called = compiler(fixed_point)
        x = torch.arange(6.0).view(2, 3) * 0.1
        losses = [called(layer, x) for _ in range(2)]
        found.append([*losses, layer.weight.grad])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_hook_is_not_called_for_another_head(backend):
    calls = []

    def fn(w, x):
        one, other = (x * w).sin(), (x + w).cos()
        handle = one.register_hook(lambda g: calls.append(g is None))
        torch.autograd.grad(other.sum(), w, retain_graph=True)
        handle.remove()
        return one + other

    compiled = suture.compile(fn, backend=backend)
    for _ in range(2):
        compiled(torch.ones(2, requires_grad=True), torch.arange(2.0)).sum().backward()
    assert calls == []


def test_a_hook_on_a_result_of_one_history_leaves_the_graph_to_the_backend():
    graphs = Graphs()
    norms = []

    def fn(w, x):
        y = x * w
        z = y.sin()
        handle = z.register_hook(lambda g: norms.append(g.norm().item()))
        return y + z, handle

    compiled = suture.compile(fn, backend=graphs)
    result, handle = compiled(torch.ones(2, requires_grad=True), torch.arange(2.0))
    result.sum().backward()
    handle.remove()
    assert len(norms) == 1
    assert len(graphs) == 2
