"""Layers that a graph repeats are one body, called several times; what could be seen is inlined."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import suture
from suture import config, events
from suture.torch_private import compilers
from tests.harness import check


def shared(fn, *args, backend="aot_eager", **options):
    """What is shared while `fn` is compiled and compared with eager: (function, times, marked)."""
    with events.recorded(events.LayersShared) as seen:
        check(fn, *args, graphs=None, breaks=None, backend=backend, **options)
    return [(e.function.rpartition(".")[2], e.times, e.marked) for e in seen]


class Block(nn.Module):
    def __init__(self, width=8, drop=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = drop

    def forward(self, x):
        y = F.gelu(self.up(self.norm(x)))
        y = F.dropout(y, self.drop, self.training)
        y = self.down(y * torch.sigmoid(y))
        return x + y.tanh() * 0.5 + y.mean(-1, keepdim=True)


class Stack(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


# ---- regions that the program marks


def marked(fn):
    return torch.compiler.nested_compile_region(fn)


def test_a_marked_function_is_one_body():
    region = marked(lambda x, y: (x * y).sin() + 1)
    assert shared(lambda x, y: region(region(x, y), y), leaf(3), leaf(3)) == [("<lambda>", 2, True)]


def test_a_marked_function_is_one_body_where_sizes_change():
    region = marked(lambda x: x.sin() * x.shape[0])

    def fn(x):
        return region(region(x))

    compiled = suture.compile(fn, backend="aot_eager", dynamic=True)
    with events.recorded(events.LayersShared) as seen:
        for size in (3, 5, 7):
            x, y = leaf(size), leaf(size)
            y.data.copy_(x)
            compiled(x).sum().backward()
            fn(y).sum().backward()
            torch.testing.assert_close(x.grad, y.grad)
    assert [e.times for e in seen] == [2]


def test_a_marked_function_that_is_called_once_is_inlined():
    region = marked(lambda x: x.sin() + 1)
    assert shared(lambda x: region(x), leaf(3)) == []


def test_a_marked_function_may_use_tensors_of_its_closure():
    w = leaf(3)
    region = marked(lambda x: x * w)
    assert shared(lambda x: region(region(x).sin()), leaf(3)) == [("<lambda>", 2, True)]


def test_a_marked_function_gives_what_its_structure_is():
    def made(x):
        return {"a": x.sin(), "b": [x.cos(), 3, "text"]}

    region = marked(made)

    def fn(x):
        one = region(x)
        return region(one["a"]), one["b"]

    assert shared(fn, leaf(3)) == [("made", 2, True)]


def test_marked_modules_share_one_body():
    class Marked(Block):
        forward = marked(Block.forward)

    stack = Stack(*(Marked() for _ in range(3)))
    with config.patch(repeated_layers="off"):
        assert shared(stack, leaf(2, 8)) == [("forward", 3, True)]


def test_a_marked_function_that_writes_is_inlined():
    region = marked(lambda x: x.add_(1).sin())
    assert shared(lambda x: region(x) + region(x), torch.randn(3)) == []


def test_a_marked_function_that_gives_its_argument_is_inlined():
    region = marked(lambda x: (x.sin(), x.view(-1)))
    assert shared(lambda x: (region(x), region(x + 1)), torch.randn(2, 3)) == []


def test_a_marked_function_that_gives_two_views_of_one_tensor_is_inlined():
    def halves(x):
        y = x.sin()
        return y[0], y[1]

    region = marked(halves)
    assert shared(lambda x: (region(x), region(x + 1)), torch.randn(2, 3)) == []


def test_a_marked_function_that_draws_is_inlined():
    region = marked(lambda x: F.dropout(x, 0.5) + 1)
    assert shared(lambda x: region(region(x)), leaf(8)) == []


def test_a_marked_function_may_break():
    def broken(x):
        y = x.sin()
        print("seen")
        return y.cos()

    region = marked(broken)
    shared(lambda x: region(region(x)), leaf(3))


def test_a_marked_function_may_change_objects():
    seen = []

    def noted(x):
        seen.append(len(seen))
        return x.sin() * 2

    region = marked(noted)
    compiled = suture.compile(lambda x: region(region(x)), backend="aot_eager", fullgraph=True)
    x = torch.randn(3)
    torch.testing.assert_close(compiled(x), (x.sin() * 2).sin() * 2)
    assert seen == [0, 1]


def test_other_backends_get_the_nodes_themselves():
    region = marked(lambda x: x.sin() + 1)
    assert shared(lambda x: region(region(x)), leaf(3), backend="eager") == []


# ---- layers that nobody has marked


def test_equal_layers_share_one_body():
    # the first one takes what needs no derivative, and is another function
    assert shared(Stack(*(Block() for _ in range(6))), torch.randn(2, 8)) == [("forward", 5, False)]
    assert shared(Stack(*(Block() for _ in range(6))), leaf(2, 8)) == [("forward", 6, False)]


def test_equal_layers_share_one_body_without_gradients():
    stack, x = Stack(*(Block() for _ in range(4))), torch.randn(2, 8)
    for mode in (torch.no_grad, torch.inference_mode):
        compiled = suture.compile(stack, backend="aot_eager")
        with mode(), events.recorded(events.LayersShared) as seen:
            torch.testing.assert_close(compiled(x), stack(x))
        assert [e.times for e in seen] == [4]
        suture.reset()


def test_functions_are_layers_too():
    def layer(x, w):
        y = (x @ w).sin().cos().tanh().exp().sigmoid().relu()
        return x + y * 2 - 1

    def fn(x, *weights):
        for w in weights:
            x = layer(x, w)
        return x

    assert shared(fn, leaf(2, 4), *(leaf(4, 4) for _ in range(5))) == [("layer", 5, False)]


def test_functions_that_are_fused_with_what_is_around_them_are_no_layers():
    def norm(x, w):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * (y * 0.5 + y.abs()).to(x.dtype)

    def fn(x, m, *weights):
        for w in weights:
            x = x + norm(x, w) @ m
        return x

    assert shared(fn, leaf(2, 4), leaf(4, 4), *(leaf(4) for _ in range(5))) == []


@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_layers_of_torchs_encoder_share_one_body(drop):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=drop, batch_first=True)
    net = nn.TransformerEncoder(layer, 5, enable_nested_tensor=False)
    x = leaf(2, 3, 8)
    assert shared(net.train(), x) == [("forward", 5, False)]
    assert shared(net.eval(), x) == [("forward", 5, False)]


def products(call, x):
    """The products of matrices that a call computes, and how many of each."""
    with warnings.catch_warnings():  # 2.11's profiler has one about itself
        warnings.simplefilter("ignore")
        with torch.profiler.profile() as seen:
            call(x)
    names = ("aten::mm", "aten::addmm", "aten::bmm")
    return {e.key: e.count for e in seen.key_averages() if e.key in names}


def test_a_body_without_gradients_computes_with_the_operators_of_its_nodes():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    net = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).train()
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        assert shared(net, x) == [("forward", 4, False)]
        compiled = suture.compile(net, backend="aot_eager")
        torch.testing.assert_close(compiled(x), net(x))
        assert products(compiled, x) == products(net, x)
        for rows in (5, 6):  # sizes that are symbols
            torch.testing.assert_close(
                compiled(torch.ones(rows, 3, 8)), net(torch.ones(rows, 3, 8))
            )


def test_off_means_off():
    with config.patch(repeated_layers="off"):
        assert shared(Stack(*(Block() for _ in range(5))), leaf(2, 8)) == []
    with pytest.raises(ValueError, match="'auto', 'off'"):
        config.repeated_layers = "on"


def test_layers_of_other_constants_are_other_layers():
    class Scaled(Block):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

        def forward(self, x):
            return Block.forward(self, x) * self.scale

    scales = (0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0)
    blocks = [Scaled(scale) for scale in scales]
    found = shared(Stack(*blocks), leaf(2, 8))
    assert ("forward", 8, False) in found  # Block's own forward, below both


def test_layers_with_one_weight_share_it():
    weight = nn.Linear(8, 8)

    class Tied(Block):
        def __init__(self):
            super().__init__()
            self.up = self.down = weight

    assert shared(Stack(*(Tied() for _ in range(5))), leaf(2, 8)) == [("forward", 5, False)]


def test_hidden_states_leave_the_layers():
    class Collecting(Stack):
        def forward(self, x):
            seen = []
            for layer in self.layers:
                x = layer(x)
                seen.append(x)
            return seen

    assert shared(Collecting(*(Block() for _ in range(5))), leaf(2, 8)) == [("forward", 5, False)]


def test_layers_that_draw_share_one_body():
    stack = Stack(*(Block(drop=0.3) for _ in range(5)))
    assert shared(stack, leaf(2, 8)) == [("forward", 5, False)]
    assert shared(stack.eval(), leaf(2, 8)) == [("forward", 5, False)]


class Normed(Block):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)


def test_layers_with_statistics_are_inlined_while_those_change():
    stack = Stack(*(Normed() for _ in range(5)))
    assert shared(stack, leaf(4, 8)) == []
    assert shared(stack.eval(), leaf(4, 8)) == [("forward", 5, False)]


def test_layers_that_read_what_the_graph_writes_are_inlined():
    class Counting(Stack):
        def __init__(self, *layers):
            super().__init__(*layers)
            self.register_buffer("scale", torch.ones(8))
            for layer in layers:
                layer.scale = self.scale

        def forward(self, x):
            for layer in self.layers:
                x = layer(x) + layer.scale
                self.scale.add_(1.5)
            return x

    class Scaled(Block):
        def forward(self, x):
            return Block.forward(self, x + self.scale)

    found = shared(Counting(*(Scaled() for _ in range(5))), leaf(2, 8))
    assert found == [("forward", 5, False)]  # Block's part, which does not read it


def test_modes_that_the_graph_switches_keep_layers_inlined():
    class Cast(Stack):
        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                x = super().forward(x)
            return super().forward(x.float())

    assert shared(Cast(*(Block() for _ in range(4))), leaf(2, 8)) == []


def test_a_backend_that_refuses_bodies_gets_the_layers_inlined(monkeypatch):
    real = compilers.aot_eager

    def refusing(gm, inputs, *more):
        if any(str(n.target) == "invoke_subgraph" for n in gm.graph.nodes):
            raise RuntimeError("no bodies here")
        return real(gm, inputs, *more)

    monkeypatch.setattr(compilers, "aot_eager", refusing)
    with events.recorded(events.Retried) as tries:
        shared(Stack(*(Block() for _ in range(4))), leaf(2, 8))
    assert ["they are inlined" in e.reason for e in tries] == [True]


def test_layers_are_verified_like_others():
    with config.patch(verify=True, strict=True):
        stack = Stack(*(Block() for _ in range(4)))
        compiled = suture.compile(stack, backend="aot_eager")
        torch.testing.assert_close(compiled(leaf(2, 8)).shape, torch.Size((2, 8)))


def test_layers_under_autocast_share_one_body():
    stack, x = Stack(*(Block() for _ in range(5))), torch.randn(2, 8)
    compiled = suture.compile(stack, backend="aot_eager")
    found = []
    with events.recorded(events.LayersShared) as seen:
        for run in (stack, compiled):
            stack.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                y = run(x)
            y.square().mean().backward()
            found.append([y.detach(), *(p.grad for p in stack.parameters())])
    torch.testing.assert_close(found[0], found[1])
    assert [e.times for e in seen] == [4]


def test_layers_without_gradients_may_make_tensors():
    class Timed(Block):
        def forward(self, x):
            rates = torch.exp(-torch.arange(8) / 8)
            return super().forward(x * rates)

    stack = Stack(*(Timed() for _ in range(4)))
    with torch.no_grad():
        assert shared(stack, torch.randn(2, 8), backend="inductor") == [("forward", 4, False)]


class Convolving(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.conv = nn.GroupNorm(2, 4), nn.Conv2d(4, 4, 3, padding=1)
        self.scale, self.shift = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        mean = x.mean((2, 3))
        y = self.norm(x) * self.scale(mean)[..., None, None] + self.shift(mean)[..., None, None]
        return x + self.conv(F.silu(y)).tanh()


def test_layers_with_convolutions_are_inlined():
    stack = Stack(*(Convolving() for _ in range(4)))
    assert shared(stack, torch.randn(2, 4, 5, 5)) == []


def test_marked_layers_with_convolutions_share_one_body():
    layer = Convolving()
    region = marked(lambda x: layer(x))
    assert shared(lambda x: region(region(x)), leaf(2, 4, 5, 5)) == [("<lambda>", 2, True)]
