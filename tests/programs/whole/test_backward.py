"""backward() inside a compiled function: part of the graph, and what the engine does at leaves."""

from __future__ import annotations

import copy
import gc

import pytest
import torch
from torch import nn

import suture
from tests.harness import Graphs, Outcome, compare, same


def leaf(*sizes, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*sizes).requires_grad_()


def calls(fn, make, count=3, backend=None):
    """Calls of `fn` and of its compiled twin, on arguments that stay; graphs, breaks."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=backend or graphs)
    mine, theirs = make(), make()
    for seed in range(count):
        eager, ours = Outcome(fn, mine, {}, seed), Outcome(compiled, theirs, {}, seed)
        compare(eager, ours, grads=False)
        for a, b in zip(mine, theirs):
            if isinstance(a, torch.Tensor):
                same(a.grad, b.grad, "gradient")
    return len(graphs), [record.number for record in suture.stats().breaks]


def test_a_gradient_that_is_none_and_one_that_is_there():
    def fn(x):
        loss = (x * 2).sin().sum()
        loss.backward()
        return x.grad + 1

    assert calls(fn, lambda: (leaf(4),)) == (2, [])  # without a gradient, and with one
    assert calls(fn, lambda: (leaf(4),), backend="aot_eager") == (0, [])


def test_gradients_have_memory_of_their_own():
    def fn(a, b):
        (a + b).sum().backward()
        a.grad.add_(1)
        return a.grad * b.grad

    assert calls(fn, lambda: (leaf(3), leaf(3)))[1] == []


def test_gradients_are_laid_out_as_their_leaves():
    def make():
        return leaf(3, 4).detach().t().requires_grad_(), leaf(3, 4)

    def fn(a, b):
        (a.t() * b).sum().backward()
        return a.grad

    assert calls(fn, make)[1] == []


def test_several_losses_and_graphs_that_are_retained():
    def fn(x, y):
        h = x.exp()
        first, second = (h * y).sum(), (h * h).sum()
        first.backward(retain_graph=True)
        second.backward()
        return first.detach() + second.detach()

    assert calls(fn, lambda: (leaf(3), leaf(3, seed=1)))[1] == []


def test_a_gradient_to_start_from():
    def fn(x, start):
        (x.sin() * 3).backward(start)
        return x.grad.sum()

    assert calls(fn, lambda: (leaf(3), torch.arange(3.0)))[1] == []


def test_leaves_that_are_asked_for():
    def fn(x, y, z):
        a, b = x.exp(), y.exp()
        loss = (a * b).sum()
        loss.backward(inputs=[x])
        later = (x * y).sin().sum()
        later.backward(inputs=y, retain_graph=True)
        later.backward(inputs=(x, y))
        return b, loss.detach(), z.grad

    make = lambda: (leaf(3), leaf(3, seed=1), leaf(2))  # noqa: E731
    for backend in (None, "aot_eager"):
        assert calls(fn, make, backend=backend)[1] == []
    results = []
    for call in (fn, suture.compile(fn, backend="aot_eager")):
        x, y, z = make()
        call(x, y, z)[0].sum().backward()  # what led to y only was not freed
        results.append((x.grad, y.grad))
    same(*results, "gradients")


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_several_losses_in_one_call(backend):
    def fn(x, y):
        a, b = x * y, (x + y).exp().sum()
        torch.autograd.backward([a, b], [torch.arange(3.0), None])
        first, second = x.sin().sum(), y.sin().sum()
        torch.autograd.backward((first, second), inputs=[x, y])
        return a, b, first

    assert calls(fn, lambda: (leaf(3), leaf(3, seed=1)), backend=backend)[1] == []


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, y: x.exp().sum().backward(inputs=[]),
        lambda x, y: x.exp().sum().backward(inputs=[y]),
        lambda x, y: torch.autograd.backward([x.exp(), y.sum()]),
        lambda x, y: torch.autograd.backward([x.sum(), y.sum()], [torch.ones(())]),
        lambda x, y: torch.autograd.backward([]),
    ],
)
def test_what_the_engine_makes_of_odd_arguments(fn):
    calls(fn, lambda: (leaf(3), leaf(3, seed=1)), 2)


def test_an_error_is_the_engines():
    def fn(x):
        (x * 2).backward()

    calls(fn, lambda: (leaf(3),), 1)


@pytest.mark.parametrize("method", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_of_leaves_that_break_are_left_to_the_engine(method):
    seen = []

    def hook(tensor):
        seen.append(gc.isenabled())

    def fn(x):
        loss = (x * x).sum()
        loss.backward()
        return loss.detach()

    def make():
        x = leaf(3)
        getattr(x, method)(hook)
        return (x,)

    assert calls(fn, make)[1] == ["GB0123", "GB0177"]  # the second in the hook itself
    assert len(seen) == 6


def test_a_hook_that_the_function_sets_is_called():
    def fn(x):
        x.register_hook(lambda grad: grad * 3)
        (x * 2).sin().sum().backward()
        return x.grad + 1

    assert calls(fn, lambda: (leaf(3),), 1)[1] == ["GB0123"]


def test_a_hook_that_comes_later_is_called():
    seen = []

    def fn(x):
        (x * x).sum().backward()
        return x.grad.sum()

    compiled, x = suture.compile(fn, backend="eager"), leaf(3)
    compiled(x)
    x.register_hook(lambda grad: seen.append(grad))
    compiled(x)
    torch.testing.assert_close(x.grad, x.detach() * 4)
    assert len(seen) == 1


def test_what_was_computed_before_is_left_to_the_engine():
    def fn(h):
        (h * 2).sum().backward()
        return h.detach()

    suture.reset()
    compiled, x = suture.compile(fn, backend="eager"), leaf(3)
    compiled(x.sin())
    torch.testing.assert_close(x.grad, x.detach().cos() * 2)
    assert [record.number for record in suture.stats().breaks] == ["GB0123"]


def test_sparse_gradients_are_left_to_the_engine():
    def fn(table, i):
        nn.functional.embedding(i, table, sparse=True).sum().backward()
        return i + 1

    suture.reset()
    compiled, table = suture.compile(fn, backend="eager"), leaf(5, 2)
    compiled(table, torch.tensor([1, 3]))
    assert table.grad.is_sparse
    assert [record.number for record in suture.stats().breaks] == ["GB0123"]


def test_a_loss_that_leaves_can_be_gone_through_no_more():
    def fn(x):
        loss = x.exp().sum()
        loss.backward()
        return loss, loss.detach()

    assert calls(fn, lambda: (leaf(3),))[1] == []
    loss, number = suture.compile(fn, backend="eager")(leaf(3))
    assert loss.requires_grad and not loss.is_leaf
    number.mul_(2)
    assert loss.item() == number.item()
    eager = fn(leaf(3))[0]
    messages = []
    for each in (eager, loss):
        with pytest.raises(RuntimeError) as caught:
            each.backward()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_tensors_with_another_way_to_a_leaf_are_left_to_the_engine():
    """A second backward() gives the leaf a gradient before it raises."""

    def fn(x):
        y = x.exp()
        z = x + y
        y.sum().backward()
        return z

    assert calls(fn, lambda: (leaf(3),))[1] == ["GB0123"]


def test_what_a_loss_came_from_can_be_gone_through_no_more():
    def fn(x, w):
        y = x.exp() @ w
        loss = y.square().mean()
        loss.backward()
        return y, loss

    make = lambda: (leaf(3, 4), leaf(4, 2, seed=1))  # noqa: E731
    for backend in (None, "aot_eager"):
        assert calls(fn, make, backend=backend)[1] == []
    messages = []
    for call in (fn, suture.compile(fn, backend="eager")):
        x, w = make()
        y, _ = call(x, w)
        assert y.requires_grad and not y.is_leaf and y.shape == (3, 2)
        y.mul_(2)
        before = x.grad.clone(), w.grad.clone()
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
        messages.append(str(caught.value))
        same(before, (x.grad, w.grad), "gradients")
    assert messages[0] == messages[1]


def test_a_derivative_of_what_is_freed_raises_where_the_engine_comes_through_it():
    def fn(x, w, z):
        y = x.exp()
        v = (y.sin() * w).square()
        loss = v.sum()
        loss.backward()
        return y, v, loss

    told = []
    for call in (fn, suture.compile(fn, backend="eager")):
        x, w, z = leaf(3), leaf(3, seed=1), leaf(3, seed=2)
        y, v, loss = call(x, w, z)
        pairs = [(loss, x), (loss, w), (loss, y), (loss, z), (v, w), (v, y), (y, x), (y, w), (y, z)]
        told.append([_derivative(2 * of.sum(), by) for of, by in pairs])
    assert told[0] == told[1]
    assert [i for i, one in enumerate(told[0]) if one is None] == [3, 7, 8]


def _derivative(of, by):
    try:
        return torch.autograd.grad(of, by, allow_unused=True, retain_graph=True)[0]
    except RuntimeError as error:
        return str(error)


def test_two_that_share_memory_are_left_to_the_engine():
    def fn(x):
        y = x.exp()
        y.sum().backward()
        return y, y.view(-1)

    assert calls(fn, lambda: (leaf(3, 2),))[1] == ["GB0123"]


class Net(nn.Module):
    """Has a layer that is not used, one that is used twice, and dropout."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.twice = nn.Linear(8, 8)
        self.unused = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        h = self.twice(self.first(self.norm(x))).tanh()
        return self.last(nn.functional.dropout(self.twice(h), 0.3))


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05, foreach=False),
}


def train(make_optimizer, backend, steps=5, scheduled=False, clears=True):
    """Steps of training, plainly and compiled, compared; the numbers of the breaks."""
    suture.reset()
    torch.manual_seed(0)
    net, results = Net(), []
    for twin in (False, True):
        model = copy.deepcopy(net)
        optimizer = make_optimizer(model.parameters())
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2) if scheduled else None

        def step(x, model=model, optimizer=optimizer, scheduler=scheduler):
            loss = model(x).square().mean()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            if clears:
                model.zero_grad()
            return loss, norm

        call = suture.compile(step, backend=backend) if twin else step
        torch.manual_seed(1)
        made = [call(torch.randn(5, 4)) for _ in range(steps)]
        state = [p.grad for p in model.parameters()], model.state_dict(), torch.get_rng_state()
        results.append((made, *state, list(optimizer.state_dict()["state"].values())))
    torch.testing.assert_close(*results)
    return [record.number for record in suture.stats().breaks]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_step_of_training_is_one_graph(name, backend):
    graphs = Graphs()
    assert train(OPTIMIZERS[name], graphs if backend == "eager" else backend) == []
    if backend == "eager":
        assert len(graphs) == 2  # the first step makes the optimizer's state


def test_gradients_that_are_kept_are_added_to():
    assert train(OPTIMIZERS["sgd"], "aot_eager", clears=False) == []


def test_a_schedule_goes_on_behind_the_graph():
    train(OPTIMIZERS["adam"], "aot_eager", scheduled=True)


def test_inductor_trains_the_same():
    def step(x, w):
        loss = (x @ w).tanh().square().mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
        return loss.detach()

    suture.reset()
    results = []
    for call in (step, suture.compile(step, backend="inductor")):
        w, x = leaf(4, 2), leaf(3, 4, seed=1).detach()
        results.append([*(call(x, w) for _ in range(3)), w.detach()])
    torch.testing.assert_close(*results)
    assert not suture.stats().breaks


def test_a_full_graph_may_hold_a_step():
    def fn(x):
        x.square().sum().backward()
        return x.grad * 2

    compiled, x = suture.compile(fn, backend="eager", fullgraph=True), leaf(3)
    torch.testing.assert_close(compiled(x), x.detach() * 4)
