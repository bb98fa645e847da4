"""What belongs to a step of training behind backward(): clearing gradients, schedules, scalers,
accumulation. Compared with the same steps run plainly; the graphs of a steady step are counted."""

from __future__ import annotations

import importlib
import math

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

import suture
from examples.programs import GPT
from tests.harness import Graphs, same

STEPS = 8


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))


def train(make_step, inputs=None, steps=STEPS, backend=None):
    """Steps of two models, plain and compiled. `make_step` takes a model and gives a step and what
    is compared with it afterwards. Gives the graphs, the breaks and what the steps after the
    third one compiled."""
    suture.reset()
    graphs, seen, variants = Graphs(), [], []
    for compiled in (False, True):
        model = net()
        step, state = make_step(model)
        call = suture.compile(step, backend=backend or graphs) if compiled else step
        made = []
        for i in range(steps):
            torch.manual_seed(10 + i)
            x, target = torch.randn(5, 4), torch.randn(5, 2)
            made.append(call(x * (inputs or {}).get(i, 1.0), target))
            variants.append(suture.stats().variants)
        grads = [p.grad for p in model.parameters()]
        seen.append((made, list(model.parameters()), grads, state()))
    torch.testing.assert_close(*seen, rtol=1e-4, atol=1e-5)
    stats = suture.stats()
    assert not stats.interpreted, stats.interpreted
    late = variants[-1] - variants[-steps + 3]
    return len(graphs), [record.number for record in stats.breaks], late


def stepping(make_optimizer, make_schedule=None, to_none=True, first=True):
    """The usual step. `first`: gradients are cleared in front of it, else behind it."""

    def make_step(model):
        optimizer = make_optimizer(model.parameters())
        schedule = make_schedule(optimizer) if make_schedule else None

        def step(x, target):
            if first:
                optimizer.zero_grad(set_to_none=to_none)
            loss = nn.functional.mse_loss(model(x), target)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            if not first:
                optimizer.zero_grad(set_to_none=to_none)
            return loss, norm

        def state():
            rates = [group["lr"] for group in optimizer.param_groups]
            return list(optimizer.state_dict()["state"].values()), rates

        return step, state

    return make_step


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd, foreach": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, foreach=True),
    "sgd, fused": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, fused=True),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adam, foreach": lambda p: torch.optim.Adam(p, lr=1e-3, foreach=True),
    "adam, amsgrad": lambda p: torch.optim.Adam(p, lr=1e-3, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3),
    "adamw, rate in a tensor": lambda p: torch.optim.AdamW(p, lr=torch.tensor(1e-3)),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_with_any_optimizer_is_one_graph(name):
    graphs, breaks, late = train(stepping(OPTIMIZERS[name]))
    # where torch.compile has run before, torch has disabled its fused steps
    fused = importlib.import_module("torch.optim.sgd")._fused_sgd
    disabled = name == "sgd, fused" and hasattr(fused, "_torchdynamo_disable")
    # the first step makes the optimizer's state
    assert (graphs, breaks, late) == (2, ["GB0098"] if disabled else [], 0)


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", ["sgd", "adam, foreach"])
def test_gradients_are_cleared_in_the_graph(name, first, to_none):
    graphs, breaks, late = train(stepping(OPTIMIZERS[name], to_none=to_none, first=first))
    assert (graphs, breaks, late) == (2, [], 0)


@pytest.mark.parametrize("name", ["adam, fused", "adamw, fused"])
def test_fused_steps_are_run_behind_the_graph(name):
    kind = torch.optim.Adam if name.startswith("adam,") else torch.optim.AdamW
    _, breaks, late = train(stepping(lambda p: kind(p, lr=1e-3, fused=True)))
    assert "GB0123" not in breaks and late == 0


SCHEDULES = {
    "steps": lambda o: lr_scheduler.StepLR(o, 2),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "linear": lambda o: lr_scheduler.LinearLR(o, 0.1, total_iters=4),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 10),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 20),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=20, cycle_momentum=False),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, 9),
    "warm-up": lambda o: lr_scheduler.LambdaLR(
        o, lambda e: e / 3 if e < 3 else 0.5 * (1 + math.cos(math.pi * (e - 3) / 20))
    ),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(o, 0.1), lr_scheduler.ExponentialLR(o, 0.9)]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_part_of_the_step(name):
    graphs, breaks, _ = train(stepping(OPTIMIZERS["sgd"], SCHEDULES[name]), steps=10)
    assert breaks == []
    assert graphs <= 4


TABLE = [1.0, 0.9, 0.85, 0.7, 0.71, 0.6, 0.5, 0.43, 0.4, 0.31, 0.3, 0.2, 0.1]
TABLES = {
    "milestones": lambda o: lr_scheduler.MultiStepLR(o, [2, 5]),
    "one after the other": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1), lr_scheduler.ExponentialLR(o, 0.9)], [3]
    ),
    "a table": lambda o: lr_scheduler.LambdaLR(o, lambda e: TABLE[e]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_schedule_that_decides_anew_each_time_is_left_to_python(name):
    graphs, breaks, _ = train(stepping(OPTIMIZERS["sgd"], TABLES[name]), steps=12)
    assert breaks == ["GB0007"]
    assert graphs <= 7


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("overflows", [{}, {2: math.inf}, {1: math.inf, 6: math.inf}])
def test_a_scaler_skips_steps_that_overflow(overflows, backend):
    def make_step(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)

        def step(x, target):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), target)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            return loss.detach().nan_to_num(), norm.nan_to_num()

        def state():
            return scaler.state_dict(), list(optimizer.state_dict()["state"].values())

        return step, state

    def finite_gradients(model):
        step, state = make_step(model)

        def state_and_clear():
            model.zero_grad()
            return state()

        return step, state_and_clear

    _, breaks, _ = train(finite_gradients, overflows, steps=16, backend=backend)
    assert "GB0123" not in breaks and "GB0007" not in breaks
    assert "GB2010" in breaks  # whether the step is taken depends on the gradients


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_of_several_parts_are_accumulated_in_one_graph(to_none):
    def make_step(model):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def step(x, target):
            total = torch.zeros(())
            for part, wanted in zip(x.split(2), target.split(2)):
                loss = nn.functional.mse_loss(model(part), wanted) / 3
                loss.backward()
                total += loss.detach()
            optimizer.step()
            optimizer.zero_grad(set_to_none=to_none)
            return total

        return step, lambda: list(optimizer.state_dict()["state"].values())

    graphs, breaks, late = train(make_step)
    assert (graphs, breaks, late) == (2, [], 0)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_the_whole_step_of_a_language_model_is_one_graph(backend):
    suture.reset()
    graphs, seen, steady = Graphs(), [], []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = GPT()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
        schedule = lr_scheduler.CosineAnnealingLR(optimizer, 8)

        def step(tokens, targets, model=model, optimizer=optimizer, schedule=schedule):
            optimizer.zero_grad(set_to_none=True)
            logits, loss = model(tokens, targets)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            return logits, loss, norm

        call = suture.compile(step, backend=backend or graphs) if compiled else step
        made = []
        for _ in range(5):
            tokens = torch.randint(0, 31, (2, 9))
            made.append(call(tokens[:, :-1], tokens[:, 1:]))
            steady.append(suture.stats().variants)
        seen.append((made, schedule.get_last_lr(), list(model.parameters())))
    torch.testing.assert_close(*seen, rtol=1e-3, atol=1e-4)
    stats = suture.stats()
    assert not stats.breaks and not stats.interpreted
    assert steady[-5:] == [1, 2, 2, 2, 2]
    assert stats.graphs == 2
    same([type(o) for o in seen[0][0][0]], [type(o) for o in seen[1][0][0]], "types")
