"""backward(create_graph=True) inside a compiled function: gradients that can be differentiated."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

import suture
from suture.runtime import engine_warnings
from tests.harness import same

BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(autouse=True)
def _quiet():
    """The engine warns of create_graph once in a process, by whichever test comes first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(step, backend, calls=4):
    """Calls of `step(model, x)` plainly and compiled, compared with what the model is left with;
    the numbers of the breaks."""
    suture.reset()
    results = []
    for call in (step, suture.compile(step, backend=backend)):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        made = [call(model, torch.randn(3, 4)) for _ in range(calls)]
        grads = [p.grad for p in model.parameters()]
        facts = [g is not None and (g.requires_grad, g.is_leaf, g.stride()) for g in grads]
        results.append((made, grads, facts, list(model.parameters())))
    same(*results, "results")
    return [record.number for record in suture.stats().breaks]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_penalty_on_gradients(backend):
    def step(model, x):
        loss = model(x).square().mean()
        loss.backward(create_graph=True)
        penalty = sum(p.grad.square().sum() for p in model.parameters())
        model.zero_grad()
        (loss + penalty).backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        return loss.detach(), penalty.detach()

    assert run(step, backend) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_leave_with_their_history(backend):
    def step(model, x):
        model(x).square().mean().backward(create_graph=True)

    assert run(step, backend) == []
    suture.reset()
    results = []
    for call in (step, suture.compile(step, backend=backend)):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        call(model, torch.randn(3, 4))
        grads = [p.grad for p in model.parameters()]
        results.append(torch.autograd.grad([g.sum() for g in grads], model[0].weight))
    same(*results, "second derivatives")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_product_with_a_hessian(backend):
    def step(model, x):
        parameters = list(model.parameters())
        model.zero_grad()
        model(x).cos().mean().backward(create_graph=True)
        slopes = [p.grad for p in parameters]
        return torch.autograd.grad(slopes, parameters, [torch.ones_like(s) for s in slopes])

    assert run(step, backend) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_without_history_are_added_to_by_a_sum(backend):
    def step(model, x):
        out = model(x)
        out.sum().backward(retain_graph=True)
        before = [p.grad for p in model.parameters()]
        kept = [g.clone() for g in before]
        out.square().sum().backward(create_graph=True)
        same = [bool(b is p.grad) for b, p in zip(before, model.parameters())]
        for p in model.parameters():
            p.grad = p.grad.detach()
        return same, kept, before

    assert run(step, backend) == []


def test_adding_in_place_to_a_gradient_with_history_is_left_to_the_engine():
    def step(model, x):
        model.zero_grad()
        model(x).square().mean().backward(create_graph=True)
        sum(p.grad.square().sum() for p in model.parameters()).backward()

    assert run(step, "eager")[0] == "GB0123"


def test_the_engine_is_asked_once_to_warn(monkeypatch):
    said = []
    monkeypatch.setattr(engine_warnings, "_said", said)

    def step(model, x):
        model.zero_grad()
        model(x).square().mean().backward(create_graph=True)

    assert run(step, "eager") == []
    assert said == ["create_graph"]


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adagrad])
def test_a_fused_step_that_a_backend_has_no_kernel_for_is_run_behind_the_graph(kind, caplog):
    options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    optimizers = {}

    def step(model, x):
        optimizer = optimizers.get(model)
        if optimizer is None:
            optimizer = optimizers[model] = kind(model.parameters(), 0.1, fused=True, **options)
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    with suture.config.patch(strict=True):
        numbers = run(step, "aot_eager")
    assert "GB0123" not in numbers
    assert "uncompiled" not in caplog.text
