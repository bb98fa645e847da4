"""Many modules of one class: the layers of a model share what was compiled."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch import nn

import suture

rand = torch.randn


class Block(nn.Module):
    def __init__(self, index=0, width=8):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)
        self.register_buffer("gain", torch.rand(width))
        self.index = index

    def forward(self, x):
        return x + self.linear(self.norm(x)).relu() * self.gain


class Numbered(Block):
    def forward(self, x):
        return super().forward(x) * (self.index + 1)


class Averaging(Block):
    def forward(self, x):
        self.gain = self.gain * 0.9 + x.detach().mean(0) * 0.1
        return super().forward(x)


def through(layers):
    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return run


def as_modules(layers, backend):
    return [suture.compile(layer, backend=backend) for layer in layers]


def as_methods(layers, backend):
    return [suture.compile(layer.forward, backend=backend) for layer in layers]


def in_place(layers, backend):
    for layer in layers:
        layer.forward = suture.compile(layer.forward, backend=backend)
    return layers


def as_argument(layers, backend):
    call = suture.compile(lambda module, x: module(x), backend=backend)
    return [lambda x, layer=layer: call(layer, x) for layer in layers]


def in_the_class(layers, backend):
    forward = suture.compile(type(layers[0]).forward, backend=backend)
    return [lambda x, layer=layer: forward(layer, x) for layer in layers]


WAYS = (as_modules, as_methods, in_place, as_argument, in_the_class)


def variants(way, layers, x, backend="eager", turns=3, reference=None):
    """How many variants the layers take, each compared with its uncompiled copy."""
    plain = [copy.deepcopy(layer) for layer in layers]
    suture.reset()
    compiled = way(layers, backend)
    for _ in range(turns):
        with suture.config.patch(strict=True):
            torch.testing.assert_close(through(compiled)(x), through(plain)(x))
    assert not suture.stats().interpreted
    return suture.stats().variants


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("way", WAYS)
def test_twelve_layers_are_compiled_once(way, backend):
    layers = [Block(i) for i in range(12)]
    assert variants(way, layers, rand(3, 8, requires_grad=True), backend) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_number_that_differs_between_the_layers_is_a_symbol(way):
    assert variants(way, [Numbered(i) for i in range(12)], rand(3, 8, requires_grad=True)) <= 3


@pytest.mark.parametrize("way", WAYS)
def test_layers_of_other_sizes_are_compiled_on_their_own(way):
    layers = [Block(width=w) for w in (4, 6, 8, 4, 6, 8)]
    plain = [copy.deepcopy(layer) for layer in layers]
    suture.reset()
    for mine, theirs in zip(way(layers, "eager"), plain):
        x = rand(3, theirs.gain.shape[0])
        torch.testing.assert_close(mine(x), theirs(x))
    assert suture.stats().variants == 3


@pytest.mark.parametrize("way", WAYS)
def test_a_buffer_that_each_layer_replaces(way):
    layers = [Averaging(i) for i in range(6)]
    assert variants(way, layers, rand(3, 8, requires_grad=True), turns=4) == 1


def test_each_layer_gets_its_own_gradients():
    layers = [Block(i) for i in range(4)]
    plain = copy.deepcopy(layers)
    suture.reset()
    compiled = as_methods(layers, "aot_eager")
    for _ in range(3):
        x = rand(3, 8, requires_grad=True)
        through(compiled)(x).sum().backward()
        through(plain)(x).sum().backward()
    for mine, theirs in zip(layers, plain):
        for a, b in zip(mine.parameters(), theirs.parameters()):
            torch.testing.assert_close(a.grad, b.grad)


def test_a_parameter_that_is_exchanged_is_seen():
    suture.reset()
    compiled = suture.compile(lambda module, x: module(x), backend="eager")
    module, x = nn.Linear(4, 4), rand(2, 4)
    for _ in range(4):
        torch.testing.assert_close(compiled(module, x), module(x))
    module.weight = nn.Parameter(rand(4, 4))
    for _ in range(4):
        torch.testing.assert_close(compiled(module, x), module(x))
    module.bias = None
    for _ in range(4):
        torch.testing.assert_close(compiled(module, x), module(x))
    assert suture.stats().variants == 2


def test_a_layer_that_comes_in_again_is_bound_and_goes_when_it_is_freed():
    suture.reset()
    compiled = suture.compile(lambda module, x: module(x), backend="eager")
    layers = [nn.Linear(4, 4) for _ in range(3)]
    for _ in range(3):
        for layer in layers:
            compiled(layer, rand(2, 4))
    assert suture.stats().variants == 1
    assert len(compiled.point.variants) == 4
    dead = weakref.ref(layers.pop())
    del layer
    gc.collect()
    assert dead() is None
    assert len(compiled.point.variants) == 3
    suture.reset()
    assert len(compiled.point.variants) == 0


def test_layers_that_break_share_what_follows_the_break():
    class Breaking(Block):
        def forward(self, x):
            x = super().forward(x)
            torch._dynamo.graph_break()
            return x * 2 + self.gain

    layers = [Breaking(i) for i in range(8)]
    assert variants(as_methods, layers, rand(3, 8, requires_grad=True)) == 2


def test_isolated_compilations_share_nothing():
    suture.reset()
    layers = [Block(i) for i in range(3)]
    for layer in layers:
        compiled = suture.compile(layer, backend="eager", isolate_recompiles=True)
        compiled(rand(2, 8))
    assert suture.stats().variants == 3


def test_other_options_share_nothing():
    suture.reset()
    layer, x = Block(), rand(2, 8)
    suture.compile(layer, backend="eager")(x)
    suture.compile(layer, backend="aot_eager")(x)
    suture.compile(layer, backend="eager", dynamic=True)(x)
    assert suture.stats().variants == 3


def test_the_stance_that_forbids_compiling_allows_to_share():
    suture.reset()
    first, second = (suture.compile(Block(i), backend="eager") for i in range(2))
    x = rand(2, 8)
    first(x)
    with suture.set_stance("fail_on_recompile"):
        second(x)
