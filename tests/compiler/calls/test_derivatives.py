"""torch.autograd.grad inside of compiled code: a part of the graph where all of it lies inside."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check

BACKENDS = [None, "aot_eager"]
torch.manual_seed(0)
g = torch.randn(3, 4, requires_grad=True)
x = torch.randn(3, 4)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_by_an_argument_is_part_of_the_graph(backend):
    def fn(x):
        (grad,) = torch.autograd.grad((x * 2).sin().sum(), x)
        return grad * 2

    check(fn, g, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_penalty_on_gradients_is_differentiated_outside(backend):
    def fn(x):
        inside = x * 1.5
        score = net(inside).sum()
        (grad,) = torch.autograd.grad(score, inside, create_graph=True)
        return (grad.norm(2, dim=1) - 1).pow(2).mean() + score

    check(fn, g, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_of_derivatives(backend):
    def fn(t):
        u = net(t)
        first = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
        second = torch.autograd.grad(first[:, 0].sum(), t, create_graph=True)[0]
        return (second + u * first).pow(2).mean()

    check(fn, g, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_a_jacobian_in_a_loop(backend):
    def fn(x):
        y = x.sin().sum(0)
        rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(4)]
        return torch.stack(rows)

    check(fn, g, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_inner_step_of_learning_is_differentiated_through(backend):
    def fn(x, w):
        (grad,) = torch.autograd.grad((x @ w).pow(2).sum(), w, create_graph=True)
        return (x @ (w - 0.01 * grad)).sum()

    check(fn, x, torch.randn(4, 4, requires_grad=True), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_detached_argument_as_a_leaf_that_stays_inside(backend):
    def fn(x):
        with torch.enable_grad():
            inside = x.detach().requires_grad_(True)
            (grad,) = torch.autograd.grad(inside.pow(2).sum(), inside)
        return x + 0.1 * grad.sign()

    check(fn, x, backend=backend)
    check(fn, g, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_leaf_over_the_memory_of_an_argument_that_leaves_is_made_by_python(backend):
    def fn(x):
        inside = x.detach().requires_grad_(True)
        return (inside * 2).sum()

    check(fn, x, backend=backend, graphs=2, breaks=("GB0125",))


def test_attack_of_several_steps():
    def fn(x):
        current = x.detach()
        for _ in range(3):
            current = current.detach().requires_grad_()
            loss = net(current).sum()
            (grad,) = torch.autograd.grad(loss, current)
            current = (current + 0.1 * grad.sign()).clamp(x - 0.2, x + 0.2)
        return current.detach()

    check(fn, x)


def test_a_gradient_in_a_loop_of_guidance():
    def fn(x, scale):
        for _ in range(2):
            with torch.enable_grad():
                wanted = x.detach().requires_grad_()
                grad = torch.autograd.grad(net(wanted).mean(), wanted)[0]
            x = x + scale * grad
        return x

    with torch.no_grad():
        check(fn, x, 0.5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loss_whose_graph_is_used_up_can_be_gone_through_no_more(backend):
    def fn(x):
        loss = x.sin().sum()
        return loss, torch.autograd.grad(loss, x)[0]

    check(fn, g, backend=backend, grads=False)
    suture.reset()
    loss, _ = suture.compile(fn, backend=backend or "eager")(g)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_loss_whose_graph_saved_nothing_can_be_used_again():
    def fn(x):
        loss = (x + 1).sum()
        return loss, torch.autograd.grad(loss, x)[0]

    check(fn, g)


def test_a_loss_that_is_detached_is_returned_from_the_same_graph():
    def fn(x):
        loss = x.sin().sum()
        grad = torch.autograd.grad(loss, x)[0]
        return loss.detach(), grad, loss.item() < 100

    check(fn, g)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_by_parameters_of_a_module(backend):
    def fn(x):
        loss = net(x).pow(2).mean()
        return loss.detach(), torch.autograd.grad(loss, list(net.parameters()))

    check(fn, x, backend=backend)


def test_parameters_as_a_generator():
    def fn(x):
        return torch.autograd.grad(net(x).pow(2).mean(), net.parameters())

    check(fn, x)


def test_unused_inputs_have_no_gradient():
    def fn(x, y):
        return torch.autograd.grad(x.sum(), [x, y], allow_unused=True)

    check(fn, g, torch.ones(3, requires_grad=True))


def test_unused_inputs_raise_torchs_own_error():
    def fn(x, y):
        return torch.autograd.grad(x.sum(), [x, y])

    check(fn, g, torch.ones(3, requires_grad=True), graphs=None, breaks=("GB0123",))


def test_a_gradient_that_is_given_and_comes_back_is_the_same_tensor():
    def fn(x, seed):
        (grad,) = torch.autograd.grad(x + 1, x, seed)
        return grad, grad is seed

    check(fn, g, torch.ones(3, 4), graphs=None)


class _Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_go_through_functions_of_the_program_and_hooks(backend):
    def fn(x):
        y = _Tripled.apply(x.sin())
        y.register_hook(lambda grad: grad * 5)
        return torch.autograd.grad(y.cos().sum(), x)[0]

    check(fn, g, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_computed_before_the_call_is_not_gone_through(backend):
    w = torch.randn(4, requires_grad=True)

    def fn(y):
        return torch.autograd.grad((y * 2).sum(), w)[0]

    suture.reset()
    compiled = suture.compile(fn, backend=backend or "eager")
    for _ in range(2):
        torch.testing.assert_close(compiled(w.sin()), fn(w.sin()))
        torch.testing.assert_close(compiled(w), torch.full((4,), 2.0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_leaf_and_a_computed_tensor_are_told_apart(backend):
    def fn(x, w):
        return torch.autograd.grad((x * w).sum(), w)[0], x.is_leaf, x.grad_fn is None

    w = torch.ones(3, requires_grad=True)
    suture.reset()
    compiled = suture.compile(fn, backend=backend or "eager")
    for make in (torch.zeros_like, lambda w: w.exp(), torch.zeros_like):
        given = make(w).requires_grad_() if make is torch.zeros_like else make(w)
        again = make(w).requires_grad_() if make is torch.zeros_like else make(w)
        got, wanted = compiled(given, w), fn(again, w)
        torch.testing.assert_close(got[0], wanted[0])
        assert got[1:] == wanted[1:]


def test_whether_a_gradient_is_kept_is_asked_of_the_tensor():
    def fn(x):
        return x.retains_grad, x.is_leaf, x + 1

    compiled = suture.compile(fn, backend="eager")
    for keep in (False, True, False):
        y = g * 2
        if keep:
            y.retain_grad()
        assert compiled(y)[:2] == (keep, False)
        assert compiled(g)[:2] == (False, True)


def test_hooks_on_an_argument_are_called():
    def fn(x):
        return torch.autograd.grad(x.sin().sum(), x)[0]

    def calls(function):
        seen = []
        y = torch.ones(3, requires_grad=True)
        plain = function(y)
        y.register_hook(lambda grad: seen.append(1) or grad * 2)
        return plain, function(y), seen

    got, wanted = calls(suture.compile(fn, backend="eager")), calls(fn)
    torch.testing.assert_close(got[:2], wanted[:2])
    assert got[2] == wanted[2] == [1]


def test_sizes_that_change_do_not_compile_again_and_again():
    def fn(x):
        return torch.autograd.grad(x.sin().pow(2).sum(), x)[0]

    suture.reset()
    compiled = suture.compile(fn, backend="aot_eager")
    for n in (3, 4, 5, 6, 7):
        y = torch.randn(n, 2, requires_grad=True)
        torch.testing.assert_close(compiled(y), fn(y))
    assert suture.stats().variants == 2


def test_a_backend_that_cannot_differentiate_gets_what_is_around():
    def backend(gm, inputs):
        if any(node.target is torch.autograd.grad for node in gm.graph.nodes):
            raise ValueError("no derivatives")
        return gm.forward

    def fn(x):
        return torch.autograd.grad(x.sin().sum(), x)[0] + 1

    check(fn, g, backend=backend, breaks=None)


def test_a_gradient_under_fullgraph():
    def fn(x):
        return torch.autograd.grad(net(x).sum(), x)[0]

    check(fn, g, fullgraph=True)
