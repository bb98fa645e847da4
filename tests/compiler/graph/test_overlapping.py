"""Writes to tensors that have several elements at one place are what they are in eager mode."""

from __future__ import annotations

import pytest
import torch

import suture


def filled(x, y):
    wide = y.expand(2, 4)
    wide[0] = 1
    wide.fill_(3.0)
    return wide + x


def added(x, y):
    return y.expand(2, 4).add_(x)


def caught(x, y):
    try:
        y.expand(2, 4).mul_(x)
    except RuntimeError:
        return x + y
    return x - y


def in_a_list(x, y):
    torch._foreach_zero_([y.expand(2, 4)])
    return x * y


def by_strides(x, y):
    windows = y.as_strided((3, 2), (1, 1))
    windows.zero_()
    return windows + x[0, 0]


def apart(x, y):
    y.view(2, 2).t().mul_(2)
    return y + x


def outcome(fn, *args):
    try:
        return fn(*args)
    except RuntimeError as error:
        return type(error), str(error).partition("\n")[0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [filled, added, caught, in_a_list, by_strides, apart])
def test_the_write_is_that_of_eager_mode(fn, backend):
    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for _ in range(2):
        ours, plain = torch.arange(4.0), torch.arange(4.0)
        x = torch.full((2, 4), 2.0)
        assert str(outcome(compiled, x, ours)) == str(outcome(fn, x, plain))
        assert torch.equal(ours, plain)


def test_other_writes_are_compiled():
    with suture.config.patch(strict=True):
        graphs = []

        def recorded(gm, inputs):
            graphs.append(gm)
            return gm.forward

        suture.compile(apart, backend=recorded)(torch.ones(2, 4), torch.ones(4))
        assert len(graphs) == 1
        suture.compile(filled, backend=recorded)(torch.ones(2, 4), torch.ones(4))
        assert len(graphs) == 1
