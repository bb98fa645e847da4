"""Autograd inside compiled code."""

from __future__ import annotations

import dataclasses
import functools
import types

import pytest
import torch

import suture
from suture.compiler.torch.autograd import takes_names
from tests.harness import check, same

torch.manual_seed(0)
x = torch.randn(3, 4)
g = torch.randn(3, 4, requires_grad=True)
i = torch.tensor([0, 2])


class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.k = 3
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x * ctx.k


class Su(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x * n, x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, n = inputs
        ctx.save_for_backward(x)
        ctx.n = n
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.n * 5, None


class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 7


def test_grad_inside():
    def grad_inside(x):
        y = (x * 2).sum()
        (g,) = torch.autograd.grad(y, x)
        return g * 2

    check(grad_inside, g)


def test_hook_inside():
    def hook_inside(x):
        y = x * 2
        y.register_hook(lambda g: g * 3)
        return y.sum()

    check(hook_inside, g)


def test_retain():
    def retain(x):
        y = x * 2
        y.retain_grad()
        return y.sum()

    check(retain, g, graphs=2, breaks=("GB0108",))


def test_detach():
    def detach(x):
        return x.detach() * 2, (x * 2).detach_()

    check(detach, g, graphs=1)


def test_autograd_function():
    def afn(x):
        return Sq.apply(x + 1) * 2

    check(afn, g, graphs=1)


def test_autograd_function_with_setup_context():
    def afn_setup(x):
        a, b = Su.apply(x, 3)
        return a, b

    check(afn_setup, g, graphs=1)


def test_once_differentiable():
    def afn_once(x):
        return STE.apply(x).sum()

    check(afn_once, g, graphs=1)


def test_autograd_function_in_place():
    def afn_dirty(x):
        return Dirty.apply(x * 1)

    check(afn_dirty, g, graphs=1)


class _KeepsInContainers(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.kept = {"cos": x.cos(), "list": [x * 2]}
        ctx.factor = factor
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.kept["cos"] * ctx.factor + ctx.kept["list"][0], None


def test_a_context_may_keep_tensors_in_containers():
    def fn(x):
        return _KeepsInContainers.apply(x, 3)

    check(fn, torch.randn(4, requires_grad=True))


class _DifferentiatesInside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            (grad,) = torch.autograd.grad((y**2).sum(), y)
        ctx.save_for_backward(grad)
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


def test_a_body_that_breaks_under_a_mode_leaves_the_mode_as_it_was():
    def fn(x):
        return _DifferentiatesInside.apply(x), torch.is_grad_enabled()

    check(fn, torch.randn(4, requires_grad=True), graphs=None, breaks=None)


def scaled(grad):
    return grad * 2.0


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_hooks_on_computed_tensors_are_part_of_the_graph(backend):
    def fn(x):
        y = x.sin()
        weight = x.cos().detach()
        y.register_hook(lambda grad: grad.clamp(-1, 1) * weight)
        y.register_hook(scaled)
        y.register_hook(lambda grad: None)
        z = y * 3
        z.mul_(2)
        z.register_hook(lambda grad: grad + 1)
        return z.exp()

    check(fn, torch.randn(4, requires_grad=True), backend=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_hook_on_a_result_comes_before_what_is_set_later(backend):
    def fn(x):
        y = x.sin()
        y.register_hook(lambda grad: grad.clamp(-1, 1))
        return y

    def gradients(call):
        seen = []
        x = torch.arange(4.0, requires_grad=True)
        y = call(x)
        y.register_hook(lambda grad: seen.append(grad.clone()))
        y.retain_grad()
        loss = (y * 5).sum()
        (asked,) = torch.autograd.grad(loss, y, retain_graph=True)
        loss.backward()
        return [*seen, y.grad, asked, x.grad]

    ours = gradients(suture.compile(fn, backend=backend))
    assert all(torch.equal(a, b) for a, b in zip(ours, gradients(fn), strict=True))
    check(fn, torch.randn(4, requires_grad=True), breaks=["GB0029"])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_hooks_behind_one_that_was_traced_get_what_it_gives(backend):
    def fn(x, seen):
        x = x.clone().requires_grad_()
        y = x * 2
        y.register_hook(lambda grad: grad.clamp(-1, 1))
        y.register_hook(lambda grad: seen.append(grad.clone()))
        (y**2).sum().backward()
        return x.grad, seen

    check(fn, torch.randn(4), [], backend=backend, graphs=None, breaks=None, recompiles=None)


def test_a_hook_that_does_more_than_compute_is_set_by_python():
    def fn(x, seen):
        y = x.sin()
        y.register_hook(lambda grad: seen.append(1))
        return y * 3

    check(fn, torch.randn(4, requires_grad=True), [], graphs=2, breaks=["GB0029"])


def test_a_hook_whose_handle_is_kept_is_set_by_python():
    def fn(x):
        y = x.sin()
        handle = y.register_hook(lambda grad: grad * 2)
        z = y * 3
        handle.remove()
        return z

    x = torch.randn(4, requires_grad=True)
    check(fn, x, graphs=None, breaks=["GB0029"], recompiles=None, calls=1)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_hooks_on_a_leaf_from_outside_may_do_anything(backend):
    seen = []

    def fn(x):
        y = x.sin()
        x.register_hook(lambda grad: grad * y.detach())
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.sum().item()))
        return y * 3

    check(fn, torch.randn(4, requires_grad=True), backend=backend, fullgraph=True)
    assert len(seen) == 4 and seen[0] == pytest.approx(seen[1])


def test_the_handle_of_a_hook_on_a_leaf_is_removed_and_returned():
    def fn(x):
        kept = x.register_hook(lambda grad: grad * 2)
        gone = x.register_hook(lambda grad: grad * 5)
        y = x * 3
        gone.remove()
        gone.remove()
        return y, kept, gone, kept is gone

    check(fn, torch.randn(4, requires_grad=True), fullgraph=True)


@dataclasses.dataclass
class Weights:
    scale: int
    first: torch.Tensor
    second: torch.Tensor


class Weighted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights, z, more):
        ctx.save_for_backward(weights.first, more[0], x)
        ctx.scale, ctx.doubled = weights.scale, x * 2
        return x * weights.first * more[0] * weights.scale, z.sin()

    @staticmethod
    def backward(ctx, grad, other):
        first, more, x = ctx.saved_tensors
        return grad * first * more * ctx.scale + ctx.doubled * x, None, grad * 2 + other, None


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_function_of_objects_and_lists_of_tensors(backend):
    def fn(x, weights, z, more):
        return Weighted.apply(x, weights, z, more)

    def made():
        rand = functools.partial(torch.randn, 3, requires_grad=True)
        return rand(), Weights(2, rand(), rand()), rand(), [rand(), rand()]

    check(fn, make=made, backend=backend, fullgraph=True)


def test_tensors_beside_the_arguments_of_a_function_get_no_gradient():
    outer = torch.randn(3, requires_grad=True)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * outer

        @staticmethod
        def backward(ctx, grad):
            return grad * outer * 2

    check(lambda x: Scaled.apply(x), torch.randn(3, requires_grad=True), fullgraph=True)
    check(lambda x: Scaled.apply(x), torch.randn(3), fullgraph=True)
    assert outer.grad is None


def test_a_list_that_forward_changes_is_left_to_python():
    class Noting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, seen):
            seen.append(x.sin())
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    def fn(x):
        seen = []
        return Noting.apply(x, seen), seen[0]

    check(fn, torch.randn(3, requires_grad=True), graphs=None, breaks=None)


def test_backward_may_set_an_attribute_and_put_it_back():
    state = types.SimpleNamespace(mode="plain", depth=0)

    class Switching(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            before, state.mode = state.mode, "special"
            state.depth += 1
            grad = grad * 2 if state.mode == "special" else grad
            state.depth -= 1
            state.mode = before
            return grad

    check(lambda x: Switching.apply(x), torch.randn(3, requires_grad=True), fullgraph=True)


@pytest.mark.skipif(not takes_names(), reason="this torch takes no arguments by name")
def test_arguments_of_a_function_by_name():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor=1, shift=0):
            return x * factor + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None, None

    def fn(x):
        return Scale.apply(shift=1, x=x, factor=3) + Scale.apply(x, factor=2, shift=1)

    check(fn, torch.randn(3, requires_grad=True), fullgraph=True)


def test_a_function_that_the_program_allows_in_graphs_is_not_looked_into():
    class Allowed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            suture.graph_break()
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    suture.allow_in_graph(Allowed)
    check(lambda x: Allowed.apply(x), torch.randn(3, requires_grad=True), fullgraph=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_apply_of_a_function_is_compiled_by_itself(backend):
    suture.reset()
    x = torch.randn(3, requires_grad=True)
    suture.compile(Sq.apply, backend=backend, fullgraph=True)(x).sum().backward()
    assert torch.allclose(x.grad, 6 * x)
    assert suture.stats().graphs == 1


def test_a_derivative_sees_the_hooks_that_were_just_put_on_a_leaf():
    def fn(x):
        x.register_hook(lambda g: g * 2)
        return torch.autograd.grad((x * x).sum(), x)[0] + 1

    def leaf():
        return (torch.ones(3, requires_grad=True),)

    check(fn, make=leaf, graphs=None, breaks=None, grads=False)


def test_a_view_whose_base_is_detached_in_place():
    def fn(x):
        part = x[1:]
        suture.graph_break()
        x.detach_()
        return part.detach() + 1, x + 1

    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        for call in (fn, compiled, compiled):
            part, whole = call(torch.ones(3).requires_grad_())
            assert part.tolist() == [2.0, 2.0] and whole.tolist() == [2.0, 2.0, 2.0]
            assert not whole.requires_grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(3).requires_grad_(),
        lambda: torch.ones(3).requires_grad_() * 2,
        lambda: torch.ones(3),
    ],
    ids=["leaf", "computed", "plain"],
)
def test_an_argument_that_is_detached_in_place(make, backend):
    def fn(x):
        y = x + 1
        x.detach_()
        return y, x * 2, x.requires_grad

    check(fn, make=lambda: (make(),), backend=backend, graphs=None, breaks=None)


def test_a_view_that_is_detached_in_place_behind_a_tensor_of_its_own():
    def fn(x):
        y = x + 1
        try:
            torch.detach_(x)
        except RuntimeError as error:
            return y, str(error)[:30]
        return y

    base = torch.ones(4)
    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        for given in (torch.ones(3), base[1:], torch.ones(3)):
            same(fn(given), compiled(given), "result")
