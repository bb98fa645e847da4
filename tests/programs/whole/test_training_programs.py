"""Steps of training as people write them, whole and compiled, next to eager over six steps."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import suture
from tests.harness import Graphs

PROGRAMS = {}


def program(graphs, breaks=()):
    """A program makes a step and what it trains. `graphs`: how many are made in six steps;
    `breaks`: the numbers of those that are come to."""

    def note(make):
        PROGRAMS[make.__name__] = make, graphs, breaks
        return make

    return note


class Net(nn.Module):
    def __init__(self, batch=False):
        super().__init__()
        self.first = nn.Linear(4, 8, bias=not batch)
        self.norm = nn.BatchNorm1d(8) if batch else nn.LayerNorm(8)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu())


def usual(net, optimizer, after=None):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if after is not None:
            after()
        return loss.detach()

    return step, net


@program(graphs=4, breaks=("GB2010",))
def scaled_loss():
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach(), scaler.get_scale()

    return step, net


@program(graphs=3)
def accumulated_over_calls():
    net, turns = Net(), {"count": 0}
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)

    def step(x, y):
        loss = F.cross_entropy(net(x), y) / 2
        loss.backward()
        turns["count"] += 1
        if turns["count"] % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss.item()

    return step, net


@program(graphs=2)
def accumulated_in_a_loop():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step(x, y):
        optimizer.zero_grad()
        total = 0.0
        for xs, ys in zip(x.chunk(3), y.chunk(3)):
            loss = F.cross_entropy(net(xs), ys) / 3
            loss.backward()
            total = total + loss.detach()
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        optimizer.step()
        return total

    return step, net


@program(graphs=2)
def cosine_schedule():
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    return usual(net, optimizer, schedule.step)


@program(graphs=3)
def schedule_by_a_function():
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1, (epoch + 1) / 4))
    return usual(net, optimizer, schedule.step)


@program(graphs=2)
def average_of_weights():
    net = Net(batch=True)
    average = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), net.parameters()):
                mean.mul_(0.9).add_(now, alpha=0.1)
            for mean, now in zip(average.buffers(), net.buffers()):
                mean.copy_(now)
        return loss.detach(), average(x).sum()

    return step, nn.ModuleList([net, average])


@program(graphs=2)
def averaged_model():
    net = Net()
    average = torch.optim.swa_utils.AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    step, _ = usual(net, optimizer, lambda: average.update_parameters(net))
    return step, nn.ModuleList([net, average])


@program(graphs=2)
def sharpness_aware():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step(x, y):
        F.cross_entropy(net(x), y).backward()
        moved = []
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            for p in net.parameters():
                moved.append(p.grad * (0.05 / (norm + 1e-12)))
                p.add_(moved[-1])
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            for p, by in zip(net.parameters(), moved):
                p.sub_(by)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step, net


@program(graphs=2)
def step_with_a_closure():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step(x, y):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        return optimizer.step(closure).detach()

    return step, net


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr, "betas": (0.9, 0.99), "decay": 0.01})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            near, far = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(state["mean"].lerp(p.grad, 1 - near).sign_(), alpha=-group["lr"])
                state["mean"].lerp_(p.grad, 1 - far)


@program(graphs=2)
def optimizer_by_hand():
    net = Net()
    return usual(net, Lion(net.parameters()))


@program(graphs=2)
def groups_of_parameters():
    net = Net()
    wide = [p for p in net.parameters() if p.ndim > 1]
    flat = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": wide}, {"params": flat, "weight_decay": 0.0, "lr": 1e-3}]
    optimizer = torch.optim.AdamW(groups, 1e-2, weight_decay=0.1)

    def step(x, y):
        loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
        loss.backward()
        norms = [nn.utils.clip_grad_norm_(g["params"], 0.5) for g in optimizer.param_groups]
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach(), norms

    return step, net


@program(graphs=2)
def frozen_layer():
    net = Net()
    net.first.requires_grad_(False)
    optimizer = torch.optim.RMSprop([p for p in net.parameters() if p.requires_grad], 1e-2)
    return usual(net, optimizer)


@program(graphs=2)
def two_optimizers():
    makes = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    tells = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    first = torch.optim.Adam(tells.parameters(), 1e-2, betas=(0.5, 0.9))
    second = torch.optim.Adam(makes.parameters(), 1e-2, betas=(0.5, 0.9))

    def step(x, y):
        first.zero_grad()
        made = makes(torch.randn(6, 4))
        told = F.softplus(-tells(x)).mean() + F.softplus(tells(made.detach())).mean()
        told.backward()
        first.step()
        second.zero_grad()
        fooled = F.softplus(-tells(made)).mean()
        fooled.backward()
        second.step()
        return told.item(), fooled.item()

    return step, nn.ModuleList([makes, tells])


@program(graphs=2)
def penalty_on_a_gradient():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)

    def step(x, y):
        given = x.clone().requires_grad_(True)
        out = net(given)
        (slope,) = torch.autograd.grad(out.sum(), given, create_graph=True)
        loss = out.mean() + 10 * ((slope.norm(2, 1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, net


@program(graphs=1)
def recomputed_with_dropout():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def body(x):
        return F.dropout(net.norm(net.first(x)).relu(), 0.3)

    def step(x, y):
        hidden = torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)
        loss = F.cross_entropy(net.last(hidden), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step, net


@program(graphs=2)
def several_losses():
    net, other = Net(), nn.Linear(3, 1)
    optimizer = torch.optim.Adagrad([*net.parameters(), *other.parameters()], 1e-2)

    def step(x, y):
        out = net(x)
        first = F.cross_entropy(out, y)
        second = F.mse_loss(other(out).squeeze(1), y.float())
        optimizer.zero_grad()
        first.backward(retain_graph=True)
        second.backward()
        optimizer.step()
        return {"first": first.detach(), "second": second.detach(), "sum": (first + second).item()}

    return step, nn.ModuleList([net, other])


@program(graphs=2, breaks=("GB0170",))
def bad_steps_left_out():
    net, left_out = Net(), [0]
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if torch.isfinite(norm):
            optimizer.step()
        else:
            left_out[0] += 1
        optimizer.zero_grad()
        return loss.detach(), left_out[0]

    return step, net


@program(graphs=2)
def taught_by_another():
    net, teacher = Net(), Net().eval().requires_grad_(False)
    optimizer = torch.optim.NAdam(net.parameters(), 1e-2)

    def step(x, y):
        with torch.no_grad():
            wanted = F.softmax(teacher(x) / 2, -1)
        loss = F.kl_div(F.log_softmax(net(x) / 2, -1), wanted, reduction="batchmean") * 4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach(), sum(p.grad.abs().sum() for p in net.parameters())

    return step, net


@program(graphs=2)
def state_between_steps():
    cell, last = nn.GRUCell(4, 5), nn.Linear(5, 3)
    optimizer = torch.optim.SGD([*cell.parameters(), *last.parameters()], 0.1)
    kept = {"hidden": torch.zeros(6, 5)}

    def step(x, y):
        hidden = kept["hidden"]
        for _ in range(3):
            hidden = cell(x, hidden)
        loss = F.cross_entropy(last(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept["hidden"] = hidden.detach()
        return loss.detach()

    return step, nn.ModuleList([cell, last])


def batch(seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(6, 4, generator=made), torch.randint(0, 3, (6,), generator=made)


def trained(make, backend=None):
    """What six steps give and leave behind, compiled if there is a backend."""
    torch.manual_seed(0)
    step, net = make()
    call = suture.compile(step, backend=backend) if backend is not None else step
    given = []
    for turn in range(6):
        torch.manual_seed(100 + turn)
        given.append(call(*batch(turn)))
    grads = [p.grad for p in net.parameters()]
    return given, net.state_dict(), grads, torch.get_rng_state()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_whole_step_trains_as_eager_does(name):
    make, count, breaks = PROGRAMS[name]
    suture.reset()
    graphs = Graphs()
    torch.testing.assert_close(trained(make, graphs), trained(make), rtol=1e-4, atol=1e-5)
    stats = suture.stats()
    assert sorted({record.number for record in stats.breaks}) == sorted(breaks)
    assert len(graphs) == count
    assert not stats.interpreted


@pytest.mark.parametrize(
    "name",
    [
        "scaled_loss",
        "accumulated_in_a_loop",
        "average_of_weights",
        "two_optimizers",
        "several_losses",
    ],
)
def test_through_aot_autograd_it_is_the_same(name):
    make, _, breaks = PROGRAMS[name]
    suture.reset()
    torch.testing.assert_close(trained(make, "aot_eager"), trained(make), rtol=1e-3, atol=1e-4)
    assert sorted({record.number for record in suture.stats().breaks}) == sorted(breaks)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_parameters_are_cast_anew_behind_a_step_inside_autocast(backend):
    """Eager's cache of casts has those of before the step; a compiled graph has no such cache."""

    def make(cached):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), 0.5)

        def step(x, y):
            with torch.autocast("cpu", torch.bfloat16, cache_enabled=cached):
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                return loss.detach(), net(x).detach()

        return step, net

    suture.reset()
    cached, fresh = trained(lambda: make(True)), trained(lambda: make(False))
    assert not torch.equal(cached[0][0][1], fresh[0][0][1])
    ours = trained(lambda: make(True), backend)
    torch.testing.assert_close(ours[0], (cached if backend == "eager" else fresh)[0])
    assert not suture.stats().breaks
