"""Layers with dropout are one body, and nobody can tell: each call draws numbers of its own, and
its backward knows them."""

from __future__ import annotations

import pytest
import torch
import torch._functorch.config
import torch._inductor.config
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import suture
from suture import events
from suture.backends.configure import configure
from tests.harness import check


class Linear(nn.Module):
    """A layer that is linear in what it is given, whatever its masks are, and in both weights."""

    def __init__(self, width=8, residual=0.5):
        super().__init__()
        self.up = nn.Parameter(torch.randn(width, width) / 3)
        self.down = nn.Parameter(torch.randn(width, width) / 3)
        self.residual = residual

    def forward(self, x):
        y = F.dropout(x @ self.up, 0.5, self.training) * 1.5
        y = (y @ self.down).transpose(0, 1) * 2
        y = F.dropout(y, 0.3, self.training).transpose(0, 1)
        return x * self.residual - y * 0.25


class Stack(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def stack(count=5):
    return Stack(*(Linear() for _ in range(count)))


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


def shared(fn, *args, **options):
    """How often each body is called that is shared while `fn` is compared with eager."""
    with events.recorded(events.LayersShared) as seen:
        check(fn, *args, graphs=None, breaks=None, **{"backend": "aot_eager", **options})
    return [e.times for e in seen]


def compiled(fn, *args, backend="inductor", **options):
    """The first result of a compiled function, the function, and how often each body is called."""
    made = suture.compile(fn, backend=backend, **options)
    with events.recorded(events.LayersShared) as seen:
        result = made(*args)
    return result, made, [e.times for e in seen]


# ---- the same numbers as eager, where the backend draws as eager does


def test_layers_that_draw_give_what_eager_gives():
    assert shared(stack(), leaf(4, 8)) == [5]


def test_layers_that_draw_without_gradients():
    net, x = stack(), torch.randn(4, 8)
    with torch.no_grad():
        torch.manual_seed(3)
        result, _, times = compiled(net, x, backend="aot_eager")
        after = torch.rand(1)
        torch.manual_seed(3)
        torch.testing.assert_close(result, net(x))
        assert torch.equal(after, torch.rand(1))
    assert times == [5]


def test_layers_side_by_side_draw_in_their_order():
    net = stack()
    assert shared(lambda x: [layer(x) for layer in net.layers], leaf(4, 8)) == [5]


def test_attention_that_draws():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Linear(8, 24)

        def forward(self, x):
            q, k, v = self.weight(x).view(2, 3, 3, 2, 4).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4 if self.training else 0.0)
            return x + y.transpose(1, 2).reshape(2, 3, 8)

    assert shared(Stack(*(Attention() for _ in range(4))), leaf(2, 3, 8)) == [4]


def test_draws_between_the_layers():
    net = stack()

    def fn(x):
        x = F.dropout(x, 0.2)
        for layer in net.layers:
            x = layer(x) + torch.rand_like(x)
        return F.dropout(x, 0.2)

    assert shared(fn, leaf(4, 8)) == [5]


def test_layers_beside_a_checkpoint():
    net, other = stack(), Linear().eval()

    def fn(x):
        return checkpoint(other, net(x), use_reentrant=False)

    assert shared(fn, leaf(4, 8)) == [5]


def test_layers_in_checkpoints_draw_once():
    net = stack()

    def fn(x):
        for layer in net.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x

    assert shared(fn, leaf(4, 8)) == [5]


# ---- calls that could be taken for one


def test_layers_of_one_weight_that_draw_are_inlined():
    layer = Linear()

    def fn(x):
        return torch.stack([layer(x) for _ in range(5)])

    assert shared(fn, leaf(4, 8)) == []
    seen, _, times = compiled(fn, torch.ones(4, 8))
    assert times == []
    assert all(not torch.equal(seen[0], one) for one in seen[1:])


def test_a_layer_that_comes_again_is_inlined_there():
    net = stack(4)
    assert shared(Stack(*net.layers, net.layers[0]), leaf(4, 8)) == [4]


def test_a_weight_that_is_computed_tells_no_calls_apart():
    """Equal computations are one for AOTAutograd, so that what they give is one input."""
    layer = Linear()

    def called(x, up):
        y = F.dropout(x @ up, 0.5) * 1.5
        y = F.dropout((y * 2).transpose(0, 1), 0.3).transpose(0, 1)
        return x * 0.5 - y * 0.25

    def fn(x):
        return torch.stack([called(x, layer.up * 2) for _ in range(5)])

    assert shared(fn, leaf(4, 8)) == []
    seen, _, _ = compiled(fn, leaf(4, 8))
    assert all(not torch.equal(seen[0], one) for one in seen[1:])


def test_functions_of_autograd_that_draw_are_inlined():
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask = torch.rand_like(x)
            ctx.save_for_backward(mask)
            return x * mask

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    class Layer(Linear):
        def forward(self, x):
            return Noisy.apply(super().forward(x)) * 2

    # the part that draws as torch does is a call of its own
    assert shared(Stack(*(Layer() for _ in range(4))), leaf(4, 8)) == [4]


# ---- Inductor, which draws other numbers than eager


def test_backward_knows_the_masks_of_each_call():
    net, x = stack(), leaf(4, 8)
    result, _, times = compiled(net, x)
    result.sum().backward()
    assert times == [5]
    # a linear function is its derivative times what it is given, with the same masks
    torch.testing.assert_close((x.grad * x).sum(), result.sum(), rtol=1e-4, atol=1e-4)
    for layer in net.layers:
        by_up, by_down = ((w.grad * w).sum() for w in (layer.up, layer.down))
        torch.testing.assert_close(by_up, by_down, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("grad", [True, False])
def test_layers_of_equal_weights_have_masks_of_their_own(backend, grad):
    net = stack()
    for layer in net.layers:
        layer.load_state_dict(net.layers[0].state_dict())
    x = torch.ones(4, 8, requires_grad=grad)

    def fn(x):
        return torch.stack([layer(x) for layer in net.layers])

    with torch.set_grad_enabled(grad):
        torch.manual_seed(5)
        result, made, times = compiled(fn, x, backend=backend)
        again = made(x)
        torch.manual_seed(5)
        repeated = made(x)
    assert times == [5]
    ones = [*result.detach(), *again.detach()]
    for i, one in enumerate(ones):
        assert all(not torch.equal(one, other) for other in ones[:i])
    assert torch.equal(result, repeated)


# ---- settings


def test_a_program_that_compares_draws_with_eager_gets_layers_inlined():
    net, x = stack(), torch.randn(4, 8)
    torch.manual_seed(7)
    result, _, times = compiled(net, x, options={"fallback_random": True})
    torch.manual_seed(7)
    torch.testing.assert_close(result, net(x))
    assert times == []


def test_layers_are_inlined_where_values_may_be_computed_again():
    with torch._functorch.config.patch(aggressive_recomputation=True):
        assert shared(stack(), leaf(4, 8)) == []
        assert shared(stack().eval(), leaf(4, 8)) == [5]


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (torch._functorch.config, "activation_memory_budget", 0.5),
        (torch._functorch.config, "aggressive_recomputation", True),
        (torch._functorch.config, "ban_recompute_not_in_allowlist", False),
        (torch._functorch.config, "functionalize_rng_ops", True),
        (torch._functorch.config, "joint_custom_pass", lambda *args: None),
        (torch._inductor.config, "custom_partitioner_fn", lambda *args: None),
        (torch._inductor.config, "fallback_random", True),
        (torch._inductor.config, "freezing", True),
        (torch._inductor.config, "joint_custom_pre_pass", lambda graph: None),
        (torch._inductor.config, "joint_custom_post_pass", lambda graph: None),
        (torch._inductor.config, "post_grad_custom_pre_pass", lambda graph: None),
        (torch._inductor.config, "post_grad_custom_post_pass", lambda graph: None),
    ],
)
def test_settings_that_keep_layers_that_draw_inlined(module, name, value):
    backends = [
        configure("aot_eager"),
        configure("inductor"),
        configure("inductor", mode="max-autotune"),
    ]
    assert all(one.shares_layers_that_draw() for one in backends)
    with module.patch({name: value}):
        assert not any(one.shares_layers_that_draw() for one in backends)
        assert all(one.shares_layers() for one in backends)


def test_options_of_a_call_count_like_settings():
    assert not configure("inductor", options={"fallback_random": True}).shares_layers_that_draw()
    assert configure("inductor", options={"epilogue_fusion": False}).shares_layers_that_draw()
    assert not configure("eager").shares_layers_that_draw()
