"""Objects that have `__torch_function__` and are no tensors: which calls ask them."""

from __future__ import annotations

import torch

from tests.harness import check


class Batch:
    """A container of tensors that answers for torch.stack alone."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.stack:
            return cls(torch.stack([batch.data for batch in args[0]]))
        return NotImplemented

    def __init__(self, data):
        object.__setattr__(self, "data", data)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


def test_what_every_object_inherits_does_not_ask_them():
    def fn(x, given):
        made = Batch(x.sin())
        made.data = x.cos()
        object.__setattr__(given, "other", x.neg())
        object.__delattr__(given, "label")
        return torch.stack([made, given]).data, object.__getattribute__(given, "other")

    def make():
        given = Batch(torch.randn(3))
        given.label = 4
        return torch.randn(3), given

    check(fn, make=make, ops=[["sin", "cos", "add", "neg", "stack"]])
