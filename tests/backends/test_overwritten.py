"""What a graph writes to its inputs is not seen by derivatives of what they held."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

import suture
from suture.backends import overwritten
from tests.harness import same


def copied(x, held):
    old = held.clone()
    held.add_(1)
    return x * old


def computed(x, held):
    old = held.sin()
    held.mul_(2)
    return x * old


def behind_the_write(x, held):
    held += 1
    return x * 0.5**held


def element(x, held):
    y = (x * held.cos().exp()).sin()
    held[0] = 100
    return y


def view(x, held):
    y = (x * held.clone()).sin()
    held[1:].zero_()
    return y


def number(x, held):
    old = held.sum().item()
    held.add_(x.detach())
    return x * old


def given_back(x, held):
    y = x * held.exp()
    held.add_(1)
    return y, held


def lists(x, held):
    y = x * held.exp()
    torch._foreach_add_([held], [x.detach()])
    return y


BODIES = [copied, computed, behind_the_write, element, view, number, given_back, lists]


def outcomes(fn, held, calls=3):
    """Gradients, and what is held, of some calls."""
    found = []
    for i in range(calls):
        x = torch.linspace(0, 1 + i, 4).requires_grad_()
        made = fn(x, held)
        (made[0] if isinstance(made, tuple) else made).sum().backward()
        found.append((x.grad, held.clone(), made))
    return found


def compared(body, backend, make):
    suture.reset()
    compiled = suture.compile(lambda x, held: body(x, held), backend=backend)
    same(outcomes(body, make()), outcomes(compiled, make()), body.__name__)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_a_derivative_needs_what_an_input_held(body):
    compared(body, "aot_eager", lambda: torch.arange(4.0))
    compared(body, "aot_eager", lambda: torch.zeros(2, 8)[1, ::2])


def test_it_does_through_inductor():
    def all_of_them(x, *held):
        return sum(body(x, one) for body, one in zip(BODIES[:5], held, strict=True))

    plain, ours = ([torch.arange(4.0) for _ in BODIES[:5]] for _ in range(2))
    compiled = suture.compile(all_of_them)
    for i in range(2):
        xs = [torch.linspace(0, 1 + i, 4).requires_grad_() for _ in range(2)]
        for fn, x, held in ((all_of_them, xs[0], plain), (compiled, xs[1], ours)):
            fn(x, *held).sum().backward()
        same((xs[0].grad, plain), (xs[1].grad, ours), "gradients")


def test_two_inputs_that_share_memory():
    def fn(x, held):
        return copied(x, held[:4]) + x * held[4:].sin()

    def both(x, one, other):
        y = x * one.sin()
        other.add_(1)
        return y

    compared(fn, "aot_eager", lambda: torch.arange(8.0))
    compiled = suture.compile(both, backend="aot_eager")
    for of in (both, compiled):
        held, x = torch.arange(5.0), torch.ones(4, requires_grad=True)
        of(x, held[:4], held[1:]).sum().backward()
        assert torch.equal(x.grad, torch.arange(4.0).sin())


class Annealed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.long))
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        with torch.no_grad():
            self.step += 1
        return self.layer(x) * 0.5**self.step


def test_a_count_of_steps_in_a_module_that_is_trained():
    plain = Annealed()
    ours = copy.deepcopy(plain)
    compiled = suture.compile(ours, backend="aot_eager")
    for _ in range(3):
        for called in (plain, compiled):
            called(torch.ones(1, 2)).sum().backward()
        same(plain.layer.bias.grad, ours.layer.bias.grad, "gradient")
    assert plain.step == ours.step == 3


def test_weights_that_are_written_before_they_are_used():
    weight = torch.nn.Parameter(torch.full((2,), 4.0))

    def fn(x):
        with torch.no_grad():
            weight.mul_(0.5)
        return (x * weight.exp()).sum()

    compiled = suture.compile(fn, backend="aot_eager")
    for value in (2.0, 1.0):
        x = torch.ones(2, requires_grad=True)
        (given,) = torch.autograd.grad(compiled(x), weight)
        torch.testing.assert_close(given, torch.full((2,), value).exp())
        torch.testing.assert_close(weight.detach(), torch.full((2,), value))


def test_graphs_that_are_left_as_they_are(monkeypatch):
    found = []
    asked = overwritten.overwritten_inputs
    monkeypatch.setattr(
        "suture.backends.compile.overwritten_inputs", lambda gm: found.append(asked(gm))
    )
    norm, count = torch.nn.BatchNorm1d(3), torch.zeros(())
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def forward(x):
        count.add_(x.detach().sum())
        return F.relu(norm(x * weight))

    def step(x):
        loss = (x * weight).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    suture.compile(forward, backend="aot_eager")(torch.ones(2, 3)).sum().backward()
    suture.compile(step, backend="aot_eager")(torch.ones(2, 3))
    assert found and not any(found)
