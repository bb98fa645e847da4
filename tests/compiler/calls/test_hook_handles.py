"""Hooks of modules and tensors that are set and removed: in the compiled function and around it."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check, same


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).tanh() * 2


class Net(torch.nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.first, self.second = Block(), Block()
        self.breaks = breaks

    def forward(self, x):
        y = self.first(x)
        if self.breaks:
            torch._dynamo.graph_break()
        return self.second(y)


whole, broken = Net(False), Net(True)


def test_a_forward_hook_that_is_set_and_removed_is_captured():
    def fn(x):
        seen = []
        handle = whole.first.register_forward_hook(lambda module, given, made: seen.append(made))
        y = whole(x)
        handle.remove()
        return y, seen, len(whole.first._forward_hooks)

    check(fn, torch.randn(3, 4), calls=4)


def test_hooks_on_all_modules_that_are_removed_in_the_end():
    def fn(x):
        seen = {}
        handles = [
            module.register_forward_hook(lambda m, i, o, name=name: seen.__setitem__(name, o))
            for name, module in whole.named_modules()
        ]
        try:
            y = whole(x)
        finally:
            for handle in handles:
                handle.remove()
        return y, seen

    check(fn, torch.randn(3, 4), calls=4)


def test_a_hook_with_keyword_arguments_in_a_block():
    def scaled(module, args, kwargs, result):
        return result * kwargs["factor"]

    class Scaled(Block):
        def forward(self, x, factor=1):
            return super().forward(x) + factor

    module = Scaled()

    def fn(x):
        with module.register_forward_hook(scaled, with_kwargs=True, prepend=True):
            y = module(x, factor=3)
        return y, module(x)

    check(fn, torch.randn(3, 4), calls=4)


def test_a_handle_that_is_kept_is_a_real_one():
    module = Block()

    def fn(x):
        handle = module.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
        return module(x), handle

    compiled = suture.compile(fn, backend="eager")
    x = torch.randn(3, 4)
    wanted = module(x * 2)
    for _ in range(3):
        y, handle = compiled(x)
        same(y, wanted, "result")
        assert list(module._forward_pre_hooks) == [handle.id]
        handle.remove()
        assert not module._forward_pre_hooks


def variants(call, turns=8):
    """The number of variants after each call."""
    suture.reset()
    counts = []
    for _ in range(turns):
        call()
        counts.append(suture.stats().variants)
    assert not suture.stats().interpreted
    return counts


def extracting(net):
    def fn(x):
        seen = []
        handle = net.second.register_forward_hook(lambda module, given, made: seen.append(made))
        y = net(x)
        handle.remove()
        return y, seen

    return fn


def test_a_break_between_setting_and_removing_a_hook_does_not_compile_each_time():
    fn = extracting(broken)
    compiled = suture.compile(fn, backend="eager")

    def call():
        x = torch.randn(3, 4)
        same(compiled(x), fn(x), "result")

    counts = variants(call)
    assert counts[3:] == [counts[3]] * 5, counts


@pytest.mark.parametrize("net", [whole, broken], ids=["whole", "broken"])
def test_hooks_set_around_each_call_do_not_compile_each_time(net):
    compiled = suture.compile(lambda x: net(x), backend="eager")

    def features(function, x):
        seen = []
        with net.first.register_forward_hook(lambda module, given, made: seen.append(made)):
            return function(x), seen

    def call():
        x = torch.randn(3, 4)
        same(features(compiled, x), features(net, x), "result")

    counts = variants(call)
    assert counts[3:] == [counts[3]] * 5, counts


def test_a_hook_of_a_tensor_that_is_removed_does_not_compile_each_time():
    def fn(x):
        seen = []
        handle = x.register_hook(lambda grad: seen.append(1) or grad * 2)
        (x * 3).sum().backward()
        handle.remove()
        return seen, x.grad

    compiled = suture.compile(fn, backend="eager")

    def call():
        x = torch.randn(3)
        same(compiled(x.clone().requires_grad_()), fn(x.clone().requires_grad_()), "result")

    counts = variants(call)
    assert counts[2:] == [counts[2]] * 6, counts


def test_the_number_of_a_handle_is_pythons():
    def fn(x):
        handle = whole.first.register_forward_hook(lambda module, given, made: None)
        number = handle.id
        handle.remove()
        return x + 1, number + 0

    compiled = suture.compile(fn, backend="eager")
    first, second = compiled(torch.ones(2))[1], compiled(torch.ones(2))[1]
    assert 0 <= first < second


def leaf():
    return (torch.ones(3).requires_grad_(),)


def test_a_hook_on_a_leaf_that_was_detached_before_raises_where_it_is_set():
    def fn(x):
        told = []
        y = x.relu()
        x.detach_()
        try:
            x.register_hook(lambda g: g + 1).remove()
        except RuntimeError as error:
            told.append(str(error))
        return y, told

    check(fn, make=leaf, graphs=None, breaks=None)


@pytest.mark.parametrize("method", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_hook_on_a_leaf_that_is_detached_later(method):
    def fn(x):
        y = x.relu()
        getattr(x, method)(lambda g: None)
        x.detach_()
        return y, x.requires_grad

    check(fn, make=leaf, graphs=None, breaks=None)
