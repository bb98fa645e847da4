"""The memory behind tensors: `untyped_storage()` and `set_`; leaves that an attribute makes."""

from __future__ import annotations

import torch

import suture
from tests.harness import check


def both(fn, *args):
    check(fn, *args)
    check(fn, *args, backend="aot_eager")


def test_the_size_of_the_memory_of_an_argument():
    def fn(x):
        storage = x.untyped_storage()
        size = storage.size() + storage.nbytes() + len(storage)
        return x * 2 if storage.size() != 0 else x, size, bool(storage)

    both(fn, torch.randn(3, 4))
    both(fn, torch.randn(9)[2:5])


def test_another_size_of_the_memory_is_another_variant():
    def fn(x):
        return x * 2 if x.untyped_storage().size() == 12 else x * 3

    compiled = suture.compile(fn, backend="eager")
    whole, part = torch.ones(3), torch.ones(20)[:3]
    for x in (whole, part, whole, part):
        torch.testing.assert_close(compiled(x), fn(x))


def test_views_share_one_memory():
    def fn(x, y):
        memory = x.untyped_storage()
        same = memory is x.view(-1).untyped_storage(), memory is y.untyped_storage()
        return x + 1, same, memory == y.untyped_storage()

    check(fn, torch.randn(3, 4), torch.randn(2))


def test_memory_that_leaves_is_that_of_the_tensor():
    def fn(x):
        return x.untyped_storage(), x + 1

    x = torch.ones(3)
    assert suture.compile(fn, backend="eager")(x)[0] is x.untyped_storage()


def test_memory_is_resized_by_python():
    def fn(x):
        y = x * 2
        z = y + 1
        y.untyped_storage().resize_(0)
        return z * 2

    check(fn, torch.ones(3), breaks=["GB2020"], ops=[["mul", "add"], ["mul"]])


def test_a_tensor_made_here_is_set_to_another():
    def fn(x, y):
        made = torch.empty(0)
        given = made.set_(y)
        y.add_(1)
        made.mul_(2)
        return made, given is made, made.shape, x + made

    both(fn, torch.randn(3, 4), torch.randn(3, 4))


def test_a_tensor_from_outside_is_set_by_python():
    def fn(x, y):
        z = y + 1
        x.set_(y)
        return x + z

    check(fn, torch.randn(3), torch.randn(3), breaks=["GB0128"], ops=[["add"], ["add"]])


def test_an_attribute_makes_a_leaf():
    def fn(x):
        w = torch.ones(3)
        w.requires_grad = True
        return (x * w).sum(), torch.autograd.grad((x * w).sum(), w)[0], w

    both(fn, torch.randn(3))
