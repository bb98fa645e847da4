"""Further layers of a class that was met before: nothing but the class is taken for granted."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import suture
from tests.harness import check


class Layer(nn.Module):
    scale = 2.0

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("shift", torch.zeros(width))

    def moved(self, x):
        return x * self.scale + self.shift

    def forward(self, x):
        return self.moved(self.inner(x)) * self.weight


class Layers(nn.Module):
    def __init__(self, count: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def own_method(net):
    net.layers[1].moved = lambda x: x - 1


def own_forward(net):
    net.layers[1].forward = lambda x: x.cos()


def own_attribute(net):
    net.layers[1].scale = 3.0


def plain_tensor(net):
    del net.layers[1].weight
    net.layers[1].weight = torch.full((4,), 5.0)


def buffer_in_place_of_a_parameter(net):
    del net.layers[1].weight
    net.layers[1].register_buffer("weight", torch.full((4,), 5.0))


def hook_before(net):
    net.layers[1].register_forward_pre_hook(lambda module, args: (args[0] + 1,))


def hook_behind(net):
    net.layers[1].inner.register_forward_hook(lambda module, args, out: out * 2)


def hook_with_keywords(net):
    net.layers[2].register_forward_hook(
        lambda module, args, kwargs, out: out.exp(), with_kwargs=True
    )


CHANGES = [
    own_method, own_forward, own_attribute, plain_tensor, buffer_in_place_of_a_parameter,
    hook_before, hook_behind, hook_with_keywords,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_layer_that_differs_from_the_first(change):
    net = Layers()
    change(net)
    check(net, torch.randn(2, 4), breaks=None)


@pytest.mark.parametrize("change", CHANGES)
def test_a_layer_that_differs_from_the_first_at_a_later_call(change):
    net, x = Layers(), torch.randn(2, 4)
    compiled = suture.compile(net, backend="eager")
    torch.testing.assert_close(compiled(x), net(x))
    change(net)
    torch.testing.assert_close(compiled(x), net(x))


def test_an_attribute_that_one_layer_has_not():
    def fn(layers, x):
        for layer in layers:
            try:
                x = x + layer.shift
            except AttributeError as error:
                x = x * len(str(error))
        return x

    layers = [Layer(), Layer(), Layer()]
    del layers[1].shift
    check(fn, layers, torch.ones(4), graphs=1)


def test_attributes_that_the_region_sets_are_found():
    def fn(layers, x):
        for layer in layers:
            layer.scale = 5.0
            x = layer.moved(x)
        return x

    check(fn, [Layer(), Layer()], torch.ones(4), graphs=1)


def test_a_parameter_that_the_region_replaces():
    class Renewed(Layer):
        def forward(self, x):
            self._buffers["shift"] = x.sum(0)
            return x * self.weight + self.shift

    net = nn.Sequential(Renewed(), Renewed())
    check(net, torch.ones(2, 4), graphs=1)


def test_a_class_that_changes_between_two_calls():
    net, x = Layers(), torch.randn(2, 4)
    compiled = suture.compile(net, backend="eager")
    torch.testing.assert_close(compiled(x), net(x))
    before = Layer.moved
    try:
        Layer.moved = lambda self, x: before(self, x) - 1
        torch.testing.assert_close(compiled(x), net(x))
        Layer.weight = property(lambda self: torch.full((4,), 7.0))
        torch.testing.assert_close(compiled(x), net(x))
    finally:
        Layer.moved = before
        del Layer.weight


def functions_called(count: int) -> int:
    """How many of suture's own functions run while so many layers are captured."""
    net, x = Layers(count), torch.randn(2, 4)
    compiled = suture.compile(net, backend="eager")
    home, calls = str(Path(suture.__file__).parent), 0

    def note(frame, event, arg):
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(home)

    gc.collect()  # a net of before that still exists would lend its variants
    gc.disable()
    with torch.no_grad():
        sys.setprofile(note)
        try:
            compiled(x)
        finally:
            sys.setprofile(None)
            gc.enable()
    return calls


def test_a_further_layer_costs_no_more_than_it_did():
    functions_called(2)  # what is imported and remembered once
    assert functions_called(22) - functions_called(2) < 20 * LIMIT


LIMIT = 2000  # functions of suture's own for one layer: 2435 before, 1796 then
