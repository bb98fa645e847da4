"""Hooks of leaves in a backward() that is part of the graph: called where the engine calls them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import suture
from tests.harness import Graphs, same
from tests.programs.whole.test_backward import calls, leaf

BACKENDS = [None, "aot_eager"]


def product(x, y):
    loss = (x * y).sin().sum() + (x * x).sum()
    loss.backward()
    return loss.detach()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_hook_gives_is_the_gradient(backend):
    def make():
        x, y = leaf(3), leaf(3, seed=1)
        x.register_hook(lambda grad: grad * 3)
        x.register_hook(lambda grad: None)
        x.register_hook(lambda grad: grad.clamp(-1, 1) + y.detach())
        return x, y

    assert calls(product, make, backend=backend)[1] == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hook_behind_the_accumulation_sees_the_sum(backend):
    def halve(tensor):
        tensor.grad.mul_(0.5)

    def make():
        x, y = leaf(3), leaf(3, seed=1)
        x.register_post_accumulate_grad_hook(halve)
        return x, y

    assert calls(product, make, count=4, backend=backend)[1] == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_are_called_in_the_order_of_the_engine(backend):
    """Each writes down which leaves have a gradient already."""

    def fn(leaves, seen):
        a, b, c, d = leaves
        h = (a * 2).exp() * b
        (h.sin() * c + (d * h).cos()).sum().backward()
        return len(seen)

    def noting(seen, leaves, name):
        def before(grad):
            seen.append((name, [x.grad is None for x in leaves], grad.dtype))

        return before

    def make():
        leaves, seen = [leaf(3, seed=i) for i in range(4)], []
        for name, each in enumerate(leaves):
            each.register_hook(noting(seen, leaves, name))
            each.register_post_accumulate_grad_hook(noting(seen, leaves, -name))
        return leaves, seen

    suture.reset()
    mine, theirs = make(), make()
    compiled = suture.compile(fn, backend=backend or "eager")
    for _ in range(3):
        assert fn(*mine) == compiled(*theirs)
        for x in (*mine[0], *theirs[0]):
            x.grad = None
    assert mine[1] == theirs[1]
    assert not suture.stats().breaks


def test_a_gradient_that_a_hook_keeps_is_not_the_one_of_the_leaf():
    def fn(x, kept):
        (x * x).sum().backward()
        x.grad.add_(1)
        return list(kept)

    results = []
    for call in (fn, suture.compile(fn, backend="eager")):
        x, kept = leaf(3), []
        x.register_hook(kept.append)
        results.append((call(x, kept), x.grad))
    same(*results, "gradients")
    assert not suture.stats().breaks


def test_hooks_that_come_and_go_are_seen():
    def step(x):
        (x * x).sum().backward()
        made, x.grad = x.grad, None
        return made

    suture.reset()
    compiled = suture.compile(step, backend="eager")
    for call in (step, compiled):
        x = leaf(3)
        plain = call(x)
        handle = x.register_hook(lambda grad: grad * 2)
        same(call(x), plain * 2, "with a hook")
        second = x.register_hook(lambda grad: grad + 1)
        same(call(x), plain * 2 + 1, "with two")
        handle.remove()
        same(call(x), plain + 1, "with the second")
        second.remove()
        same(call(x), plain, "with none")
    assert not suture.stats().breaks


class Scaled:
    """A hook with a state of its own."""

    def __init__(self):
        self.count = 0

    def __call__(self, grad):
        self.count += 1
        return grad / self.count


def test_the_state_of_a_hook_is_kept():
    def fn(x, hook):
        (x * x).sum().backward()
        return hook.count

    def make():
        x, hook = leaf(3), Scaled()
        x.register_hook(hook)
        return x, hook

    assert calls(fn, make, count=5)[1] == []


def raising(grad):
    raise ValueError(f"no gradient of {len(grad)}")


def test_an_exception_of_a_hook_is_the_programs():
    def make():
        x, y = leaf(3), leaf(3, seed=1)
        x.register_hook(raising)
        return x, y

    assert calls(product, make, count=2)[1] == ["GB0123"]


@pytest.mark.parametrize(
    "hook",
    [lambda grad: grad[:1], lambda grad: grad.double(), lambda grad: 3, lambda grad: grad.sum()],
    ids=["shape", "dtype", "number", "scalar"],
)
def test_what_is_no_gradient_is_left_to_the_engine(hook):
    def make():
        x, y = leaf(3), leaf(3, seed=1)
        x.register_hook(hook)
        return x, y

    calls(product, make, count=2)


def test_a_hook_that_writes_what_the_engine_still_reads_is_left_to_the_engine():
    """The product with what was detached is differentiated after the leaf has its gradient."""

    def fn(x, w):
        held = w.detach()
        h = (x * held).sin() * held
        (h * w).sum().backward()
        return held.sum()

    def make():
        x, w = leaf(3), leaf(3, seed=1)
        w.register_post_accumulate_grad_hook(zero)
        return x, w

    def zero(tensor):
        tensor.data.zero_()

    assert calls(fn, make, count=2)[1] == ["GB0123"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.last(self.first(x).tanh()).square().mean()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_optimizers_that_step_in_hooks_are_part_of_the_graph(backend):
    def prepared(model):
        optimizers = {p: torch.optim.Adam([p], lr=0.1) for p in model.parameters()}

        def step(p):
            optimizers[p].step()
            optimizers[p].zero_grad()

        for p in model.parameters():
            p.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
            p.register_post_accumulate_grad_hook(step)

    def train(model, x):
        loss = model(x)
        loss.backward()
        return loss.detach()

    suture.reset()
    torch.manual_seed(0)
    mine, graphs = Net(), Graphs()
    theirs = copy.deepcopy(mine)
    compiled = suture.compile(train, backend=graphs if backend == "eager" else backend)
    prepared(mine), prepared(theirs)
    for seed in range(5):
        x = leaf(3, 4, seed=seed).detach()
        torch.testing.assert_close(train(mine, x), compiled(theirs, x))
    torch.testing.assert_close(mine.state_dict(), theirs.state_dict())
    assert not suture.stats().breaks
    if backend == "eager":
        assert len(graphs) == 2  # the first step makes the optimizers' state


def test_a_gradient_that_is_kept_for_a_tensor_inside():
    def fn(x, y):
        h = (x * y).t()
        h.retain_grad()
        before = h.retains_grad, h.grad
        loss = h.sin().sum()
        loss.retain_grad()
        loss.backward(retain_graph=True)
        first = h.grad
        h.square().mean().backward()
        return before, first, h.grad, loss.grad, first is h.grad, h.grad.stride()

    for backend in BACKENDS:
        made = calls(fn, lambda: (leaf(2, 3), leaf(2, 3, seed=1)), backend=backend)
        assert made[1] == []


def test_a_gradient_that_is_kept_for_a_tensor_that_is_written():
    def fn(x, y):
        h = x * y
        h.retain_grad()
        h.mul_(2)
        h.exp().sum().backward()
        return h.grad

    for backend in BACKENDS:
        assert calls(fn, lambda: (leaf(3), leaf(3, seed=1)), backend=backend)[1] == []


def test_a_tensor_with_a_hook_that_keeps_its_gradient_is_left_to_the_engine():
    def fn(x, y):
        h = x * y
        h.retain_grad()
        h.register_hook(lambda grad: grad * 5)
        h.exp().sum().backward()
        return h.grad, x.grad.sum()

    assert "GB0123" in calls(fn, lambda: (leaf(3), leaf(3, seed=1)))[1]


@pytest.mark.parametrize("leaves", [True, False])
def test_a_tensor_that_keeps_its_gradient_and_leaves_is_a_real_one(leaves):
    def fn(x, y):
        h = x * y
        h.retain_grad()
        loss = h.exp().sum()
        if leaves:
            loss.backward()
        return h, loss.detach()

    suture.reset()
    results = []
    for call in (fn, suture.compile(fn, backend="aot_eager")):
        h, loss = call(leaf(3), leaf(3, seed=1))
        if not leaves:
            h.sum().backward()
        results.append((h.grad, h.retains_grad, loss))
    same(*results, "gradients")
    assert suture.stats().breaks[0].number == "GB0108"
