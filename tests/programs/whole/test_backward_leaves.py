"""backward() inside a compiled function: leaves that the function makes, under autocast, and with
sizes that are symbols."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from tests.harness import same

BACKENDS = ["eager", "aot_eager"]


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 4))


def attacks(fn, backend, sizes=(5, 5, 5), **options):
    """Calls of `fn(model, x)` plainly and compiled, with the gradients that the model is left
    with; how many graphs, and the breaks."""
    suture.reset()
    compiled = suture.compile(fn, backend=backend, **options)
    models = net(), net()
    for seed, size in enumerate(sizes):
        results = []
        for call, model in zip((fn, compiled), models):
            torch.manual_seed(seed)
            made = call(model, torch.randn(size, 8))
            made = made if isinstance(made, tuple) else (made,)
            facts = [(t.is_leaf, t.requires_grad, t.stride()) for t in made]
            results.append((made, facts, [p.grad for p in model.parameters()]))
        same(*results, "results")
    stats = suture.stats()
    return stats.graphs, [record.number for record in stats.breaks]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_leaf_that_is_made_gets_its_gradient(backend):
    def fn(model, x):
        x = x.clone().requires_grad_()
        model(x).square().mean().backward()
        (x * 2).sum().backward()
        return x + 0.1 * x.grad.sign(), x.grad, x

    # the second has gradients to add to
    assert attacks(lambda m, x: fn(m, x)[1], backend) == (2, [])
    compiled, model, x = suture.compile(fn, backend=backend), net(), torch.ones(2, 8)
    made = compiled(model, x)
    assert made[2].grad is made[1] and made[2].is_leaf
    same([t.detach() for t in fn(net(), x)], [t.detach() for t in made], "results")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_leaf_on_the_memory_of_an_input_gets_its_gradient(backend):
    def fn(model, x):
        a = x.detach().requires_grad_()
        model(a).square().mean().backward()
        return x + 0.1 * a.grad.sign(), a.grad

    assert attacks(fn, backend) == (2, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_of_steps_on_a_leaf_that_is_made(backend):
    def fn(model, x):
        delta = torch.zeros_like(x).uniform_(-0.1, 0.1)
        delta.requires_grad = True
        for _ in range(3):
            model(x + delta).square().mean().backward()
            with torch.no_grad():
                delta.add_(0.1 * delta.grad.sign()).clamp_(-0.2, 0.2)
            delta.grad = None
        return delta

    assert attacks(fn, backend) == (2, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_penalty_is_one_graph(backend):
    def fn(model, x):
        x = x.clone().requires_grad_()
        out = model(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        loss = out.square().mean() + (slope.norm(2, dim=1) - 1).square().mean()
        loss.backward()
        return loss.detach(), x.grad

    assert attacks(fn, backend) == (2, [])


def test_a_leaf_on_the_memory_of_an_input_that_leaves_is_left_to_python():
    def fn(model, x):
        a = x.detach().requires_grad_()
        model(a).square().mean().backward()
        return a

    assert attacks(fn, "eager")[1] == ["GB0125"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_leaves_whose_sizes_are_symbols(backend):
    def fn(model, x):
        a = (x * 2).requires_grad_()
        model(a).square().mean().backward()
        return a.grad * 2

    assert attacks(fn, backend, (3, 5, 4, 7)) == (2, [])


def test_an_order_of_the_numbers_that_depends_on_sizes_is_left_to_python():
    def fn(model, x):
        a = (x * 2).t().requires_grad_()
        model(a.t()).square().mean().backward()
        return a.grad

    assert "GB0123" in attacks(fn, "eager", (3, 5, 4), dynamic=True)[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_backward_under_autocast_is_part_of_the_graph(backend):
    def fn(model, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).square().mean()
            loss.backward()
        return loss.detach()

    assert attacks(fn, backend) == (2, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_computed_without_autocast_is_differentiated_with_it(backend):
    """The engine computes in the precision of where it is called."""

    def fn(model, x):
        out = model(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out.square().mean().backward()
        return out.detach()

    assert attacks(fn, backend) == (2, [])
