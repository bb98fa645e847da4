"""Optimizer steps: compiled once with empty state and once with it, never per step."""

from __future__ import annotations

import copy

import pytest
import torch

import suture

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD, momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "SGD, foreach": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1, foreach=False),
    "Adam, foreach": lambda p: torch.optim.Adam(p, lr=0.1, foreach=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1, foreach=False),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, lr=0.1, foreach=True),
    "Adam, fused": lambda p: torch.optim.Adam(p, lr=0.1, fused=True),
    "AdamW, fused": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True, amsgrad=True),
    "SGD, fused": lambda p: torch.optim.SGD(p, lr=0.1, fused=True),
    "Adam, tensor": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1), foreach=False),
    "Adam, amsgrad": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.1),
    "Adamax, foreach": lambda p: torch.optim.Adamax(p, lr=0.1, foreach=True),
    "NAdam, foreach": lambda p: torch.optim.NAdam(p, lr=0.1, foreach=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1, foreach=True, momentum=0.9),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=0.1, foreach=True),
}


def train(make, backend, rates=None, steps=6):
    """The number of variants after each step, next to an uncompiled optimizer."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    other = copy.deepcopy(model)
    plain, ours = make(model.parameters()), make(other.parameters())
    suture.reset()
    compiled = suture.compile(lambda: ours.step(), backend=backend)
    counts = []
    for i in range(steps):
        x = torch.randn(5, 4)
        for m, optimizer, step in ((model, plain, plain.step), (other, ours, compiled)):
            if rates is not None:
                optimizer.param_groups[0]["lr"] = rates(i)
            optimizer.zero_grad()
            m(x).pow(2).sum().backward()
            step()
        for a, b in zip(model.parameters(), other.parameters()):
            torch.testing.assert_close(a, b)
        counts.append(suture.stats().variants)
    assert not suture.stats().interpreted
    return counts


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_do_not_compile_again(name, backend):
    counts = train(OPTIMIZERS[name], backend)
    assert counts[2:] == [counts[2]] * 4, counts
    assert counts[-1] - counts[0] <= 2, counts


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["SGD, momentum", "SGD, foreach", "AdamW", "Adam, foreach"])
def test_a_learning_rate_that_changes_each_step(name, backend):
    counts = train(OPTIMIZERS[name], backend, rates=lambda i: 0.1 / (i + 1), steps=8)
    assert counts[2:] == [counts[2]] * 6, counts


def test_a_schedule_as_users_write_it():
    def make(parameters):
        made = torch.optim.SGD(parameters, lr=0.1)
        make.schedulers.append(torch.optim.lr_scheduler.StepLR(made, 1, 0.5))
        return made

    make.schedulers = []
    counts = train(make, "eager", rates=lambda i: 0.1 * 0.5**i)
    assert counts[2:] == [counts[2]] * 4, counts


@pytest.mark.parametrize("name", ["Adam, foreach", "NAdam, foreach", "Adamax, foreach"])
def test_factors_that_are_tensors_do_not_break(name):
    train(OPTIMIZERS[name], "eager", steps=2)
    asked = {"GB0025", "GB0098"}  # torch's own, around each step
    assert {record.number for record in suture.stats().breaks} <= asked


@pytest.mark.skipif(not torch.cuda.is_available(), reason="capturable optimizers need a GPU")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_capturable_steps_do_not_compile_again(backend):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4).cuda()
    other = copy.deepcopy(model)
    plain, ours = (torch.optim.Adam(m.parameters(), capturable=True) for m in (model, other))
    suture.reset()
    compiled = suture.compile(lambda: ours.step(), backend=backend)
    counts = []
    for _ in range(6):
        x = torch.randn(3, 4, device="cuda")
        for m, optimizer, step in ((model, plain, plain.step), (other, ours, compiled)):
            optimizer.zero_grad()
            m(x).pow(2).sum().backward()
            step()
        torch.testing.assert_close(model.weight, other.weight)
        counts.append(suture.stats().variants)
    assert counts[2:] == [counts[2]] * 4, counts
