"""Whole steps of training as one compiled function: loss, backward, clipping, optimizer."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import suture
from suture import events
from tests.harness import Graphs, check, same


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )


def train(make_step, turns=5, backend=None):
    """Train a plain and a compiled model side by side. Gives the numbers of the breaks, the number
    of graphs and the variants after each step."""
    suture.reset()
    graphs, counts, seen = Graphs(), [], []
    plain, ours = model(), model()
    step, compiled = make_step(plain), suture.compile(make_step(ours), backend=backend or graphs)
    stop = events.subscribe(lambda e: seen.append(e) if isinstance(e, events.Broke) else None)
    try:
        for _ in range(turns):
            x, target = torch.randn(5, 4), torch.randn(5, 2)
            with suture.config.patch(strict=True):
                got = compiled(x, target)
            same(step(x, target).detach(), got.detach(), "loss")
            for a, b in zip(plain.parameters(), ours.parameters()):
                same(a, b, "parameter")
                same(a.grad, b.grad, "gradient")
            counts.append(suture.stats().variants)
    finally:
        stop()
    assert not suture.stats().interpreted
    return [e.number for e in seen], len(graphs), counts


def usual(make_optimizer, make_schedule=None):
    def make_step(net):
        optimizer = make_optimizer(net.parameters())
        schedule = make_schedule(optimizer) if make_schedule is not None else None

        def step(x, target):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            return loss

        return step

    return make_step


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_clipping_the_norm_of_gradients_is_part_of_a_graph(backend):
    numbers, graphs, counts = train(usual(lambda p: torch.optim.SGD(p, lr=0.1)), backend=backend)
    assert "GB0177" not in numbers, numbers
    # all of a step is one graph: that of the first, which finds no gradients, and of the others
    assert graphs == (2 if backend is None else 0), graphs
    assert counts[1:] == [counts[1]] * 4, counts


def test_gradients_of_several_dtypes_are_clipped_in_groups():
    def fn(x, y):
        a, b = x.clone(), y.clone()
        a.grad, b.grad = x * 3, y * 5
        total = torch.nn.utils.clip_grad_norm_([a, b], 1.0, foreach=True)
        return total, a.grad, b.grad

    check(fn, torch.randn(3), torch.randn(4, dtype=torch.float64), breaks=None, graphs=None)


@pytest.mark.parametrize("foreach", [True, False])
def test_a_step_that_a_scheduler_has_wrapped_is_compiled(foreach):
    numbers, graphs, counts = train(
        usual(
            lambda p: torch.optim.AdamW(p, lr=0.1, foreach=foreach),
            lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
        ),
        turns=6,
    )
    assert graphs == 2, (graphs, numbers)  # the steps with and without state
    assert counts[3:] == [counts[3]] * 3, counts


def test_an_optimizer_inside_of_a_hook_on_gradients():
    def make_step(net):
        def step(x, target):
            each = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

            def update(p):
                each[p].step()
                each[p].zero_grad()

            handles = [p.register_post_accumulate_grad_hook(update) for p in net.parameters()]
            loss = F.mse_loss(net(x), target)
            loss.backward()
            for handle in handles:
                handle.remove()
            return loss

        return step

    train(make_step, turns=2)


def test_gradients_are_accumulated_over_several_calls():
    def make_step(net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        done = [0]

        def step(x, target):
            loss = F.mse_loss(net(x), target) / 2
            loss.backward()
            done[0] += 1
            if done[0] % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
            return loss

        return step

    _, _, counts = train(make_step, turns=6)
    assert counts[2:] == [counts[2]] * 4, counts


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_freezing_parameters_for_a_part_of_a_step_is_one_break(backend):
    def make_step(net):
        def step(x, target):
            for p in net.parameters():
                p.requires_grad_(False)
            inside = x.clone().requires_grad_()
            penalty = net(inside).pow(2).mean()
            for p in net[0].parameters():
                p.requires_grad = True
            flags = [p.requires_grad for p in net.parameters()]
            loss = F.mse_loss(net(x), target) + penalty
            for p in net.parameters():
                p.requires_grad_()
            assert flags == [True, True] + [False] * (len(flags) - 2)
            return loss

        return step

    numbers, _, counts = train(make_step, backend=backend)
    assert numbers[:2] == ["GB2024", "GB2024"], numbers
    assert counts[1:] == [counts[1]] * 4, counts


def test_what_was_computed_before_a_parameter_is_frozen_keeps_its_gradient():
    weight = torch.nn.Parameter(torch.randn(3))

    def fn(x):
        before = x * weight
        weight.requires_grad_(False)
        after = x * weight
        weight.requires_grad_(True)
        flags = [before.requires_grad, after.requires_grad, weight.requires_grad]
        return before, after, flags

    check(fn, torch.randn(3), graphs=2, breaks=("GB2024",))
    assert weight.requires_grad
