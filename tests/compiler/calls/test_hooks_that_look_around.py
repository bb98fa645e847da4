"""Hooks on computed tensors that read more than their gradient: what they read is what it is when
the engine calls them, and not what it was when they were set."""

import functools

import pytest
import torch

import suture
from tests.harness import check

STATE = {"factor": 1.0}
FACTOR = 1.0


def gradient(y, x):
    return torch.autograd.grad((y * y).sum(), x)[0]


def filled_later(x):
    seen = []
    y = x.sin()
    y.register_hook(lambda grad: grad * 10 if seen else None)
    z = y * 2
    seen.append(1)
    return gradient(z, x)


def filled_behind_a_break(x):
    seen = {}
    y = x.sin()
    y.register_hook(lambda grad: grad * 10 if len(seen) else None)
    z = y * 2
    suture.graph_break()
    seen["a"] = 1
    return gradient(z, x)


def filled_by_another_hook(x):
    seen = {}
    y = x.sin()
    y.register_hook(lambda grad: grad * 10 if seen else None)
    z = y.clone()
    z.register_hook(lambda grad: seen.update(a=1))
    return gradient(z, x)


def set_again(x):
    factor = 2.0
    y = x.sin()
    y.register_hook(lambda grad: grad * factor)
    z = y * 2
    factor = 5.0
    return gradient(z, x), factor


def set_by_another_function(x):
    factor = 2.0

    def change():
        nonlocal factor
        factor = 5.0

    y = x.sin()
    y.register_hook(lambda grad: grad * factor)
    change()
    return gradient(y * 2, x)


def set_by_each_turn(x):
    ys = []
    for factor in (2.0, 3.0):
        y = x * factor
        y.register_hook(lambda grad: grad * factor)  # noqa: B023
        ys.append(y)
    return gradient(ys[0] * ys[1], x)


def made_elsewhere(x):
    def scaling(by):
        def hook(grad):
            return grad * by

        return hook

    y = x.sin()
    y.register_hook(scaling(3.0))
    return gradient(y * 2, x)


def with_a_default(x):
    seen = []
    y = x.sin()

    def hook(grad, seen=seen):
        return grad * (1 + len(seen))

    y.register_hook(hook)
    seen.append(1)
    return gradient(y * 2, x)


class Scale:
    def __init__(self):
        self.by = 1.0

    def hook(self, grad):
        return grad * self.by


def of_an_object(x):
    scale = Scale()
    y = x.sin()
    y.register_hook(scale.hook)
    y.register_hook(functools.partial(Scale.hook, scale))
    y.register_hook(lambda grad: grad * scale.by)
    scale.by = 4.0
    return gradient(y * 2, x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "fn",
    [
        filled_later,
        filled_behind_a_break,
        filled_by_another_hook,
        set_again,
        set_by_another_function,
        set_by_each_turn,
        made_elsewhere,
        with_a_default,
        of_an_object,
    ],
    ids=lambda fn: fn.__name__,
)
def test_hooks_read_what_is_there_when_they_are_called(fn, backend):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    check(fn, x, backend=backend, graphs=None, breaks=None, recompiles=None)


def of_the_state(x):
    y = x.sin()
    y.register_hook(lambda grad: grad * STATE["factor"])
    return y * 2


def of_a_global(x):
    y = x.sin()
    y.register_hook(lambda grad: grad * FACTOR)
    return y * 2


@pytest.mark.parametrize("fn", [of_the_state, of_a_global])
def test_what_the_caller_changes_before_the_backward_pass_counts(fn, monkeypatch):
    compiled = suture.compile(fn, backend="eager")
    for factor in (1.0, 3.0, 7.0):
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        monkeypatch.setitem(STATE, "factor", 0.0)
        monkeypatch.setitem(globals(), "FACTOR", 0.0)
        results = compiled(x), fn(x)
        STATE["factor"] = globals()["FACTOR"] = factor
        ours, plain = (gradient(y, x) for y in results)
        assert torch.equal(ours, plain) and bool(ours.all())


def clipped(grad):
    return torch.clamp(grad, -1, 1)


def test_hooks_of_what_lasts_are_part_of_the_graph():
    def fn(x, factor):
        y = x.sin()
        weight = x.detach().cos()
        by = factor * 2

        def halved(grad):
            return clipped(grad) / 2

        y.register_hook(lambda grad: grad * weight * by)
        y.register_hook(lambda grad, low=-2.0: torch.maximum(grad, torch.full_like(grad, low)))
        y.register_hook(halved)
        y.register_hook(torch.neg)
        return (y * 3).exp()

    check(fn, torch.tensor([0.5, 1.0], requires_grad=True), 1.5)
