"""What a module is asked before its forward is called: its hooks, and whether it is compiled."""

from __future__ import annotations

from collections import OrderedDict

import pytest
import torch
from torch import nn

import suture
from tests.harness import check


class Scale(nn.Module):
    def __init__(self, by=2.0):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x * self.by


def twice(module, args, out):
    return out * 2


def called_before_and_after(fn, change, *args):
    """Results of `fn` compiled and plainly, before and after `change()`."""
    compiled, before = suture.compile(fn, backend="eager"), fn(*args)
    assert torch.equal(compiled(*args), before) and torch.equal(compiled(*args), before)
    change()
    after = fn(*args)
    assert torch.equal(compiled(*args), after)
    return before, after


@pytest.mark.parametrize("where", ["instance", "class", "base"])
def test_a_module_that_is_compiled_on_its_own_later_is_called_that_way(where):
    class Base(Scale):
        pass

    class Own(Base):
        pass

    layers = nn.Sequential(Own(), Own(3.0))

    def change():
        if where == "instance":
            layers[1]._compiled_call_impl = lambda x: x - 1
        else:
            own = Own if where == "class" else Base
            own._compiled_call_impl = lambda self, x: x - 1

    before, after = called_before_and_after(layers, change, torch.ones(2))
    assert not torch.equal(before, after)


def test_a_module_that_gives_its_attributes_itself_says_whether_it_is_compiled():
    class Asked(Scale):
        def __getattribute__(self, name):
            if name == "_compiled_call_impl" and self.by == 3.0:
                return lambda x: x - 1
            return super().__getattribute__(name)

    check(lambda a, b, x: b(a(x)), Asked(), Asked(3.0), torch.ones(2), graphs=None, breaks=None)


@pytest.mark.parametrize("name", ["_forward_hooks", "_forward_pre_hooks"])
def test_a_hook_that_comes_later_is_called(name):
    layers = nn.Sequential(Scale(), Scale(3.0))
    hook = twice if name == "_forward_hooks" else lambda module, args: (args[0] + 1,)

    def change():
        getattr(layers[1], name)[7] = hook

    before, after = called_before_and_after(layers, change, torch.ones(2))
    assert not torch.equal(before, after)


def test_modules_that_share_a_table_of_hooks():
    layers = nn.Sequential(Scale(), Scale(3.0))
    layers[0]._forward_hooks = layers[1]._forward_hooks

    def change():
        layers[1]._forward_hooks[0] = twice

    _, after = called_before_and_after(layers, change, torch.ones(2))
    assert torch.equal(after, torch.full((2,), 24.0))


def test_one_table_in_two_places():
    layers = nn.Sequential(Scale(), Scale(3.0))
    layers[1]._forward_hooks = layers[1]._backward_hooks = OrderedDict()
    called_before_and_after(layers, lambda: None, torch.ones(2))


def test_a_hook_that_the_region_registers_is_called_at_once():
    def fn(layer, x):
        first = layer(x)
        handle = layer.register_forward_hook(twice)
        second = layer(x)
        handle.remove()
        return first + second + layer(x)

    check(fn, Scale(), torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_a_table_that_the_region_changes_is_no_table_of_a_module_it_calls():
    layer = Scale()

    def fn(table, x):
        first = layer(x)
        table[0] = twice
        second = layer(x)
        del table[0]
        return first + second

    compiled = suture.compile(fn, backend="eager")
    for table in (OrderedDict(), OrderedDict(), layer._forward_hooks):
        for _ in range(2):
            assert torch.equal(compiled(table, torch.ones(2)), fn(table, torch.ones(2)))
    assert not layer._forward_hooks
