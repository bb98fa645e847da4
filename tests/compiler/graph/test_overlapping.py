"""Writes to tensors that have several elements at one place, or to what the same operation reads
elsewhere, are what they are in eager mode."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check


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


WRITES = {
    "a shifted part": lambda x: x[1:].sub_(x[:-1]),
    "a shifted part by assignment": lambda x: x.__setitem__(slice(1, 4), x[:3]),
    "an element of the same tensor": lambda x: x.div_(x[0]),
    "rows of the same tensor": lambda x: x.index_add_(0, torch.tensor([0]), x[:1]),
    "all rows of the same tensor": lambda x: x.scatter_(0, torch.tensor([0, 0, 1, 1]), x),
    "another order of the same elements": lambda x: x.view(2, 2).add_(x.view(2, 2).t()),
    "an output": lambda x: torch.sin(x[1:], out=x[:-1]),
    "a list": lambda x: torch._foreach_add_([x[1:]], [x[:-1]]),
    "an expanded tensor": lambda x: x.expand(2, 4).add_(1),
    "numbers for an expanded tensor": lambda x: x.expand(2, 4).copy_(torch.ones(2, 4)),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_eager_mode_refuses_is_raised_at_its_line(name):
    """Behind other writes, which are not taken back: `gaps` is not kept for that."""

    def fn(gaps, x):
        gaps.add_(1)
        told = []
        try:
            WRITES[name](x)
        except RuntimeError as error:
            told.append(str(error))
        return told, gaps * 2

    run = check(fn, torch.ones(8)[::2], torch.arange(4.0), graphs=None, breaks=None)
    assert run.numbers[0] == "GB0064"
    assert "memory location" in fn(torch.ones(8)[::2], torch.arange(4.0))[0][0]


APART = {
    "the other half": lambda x: x[:2].copy_(x[2:]),
    "every other element": lambda x: x[::2].sub_(x[1::2]),
    "columns": lambda x: x.view(2, 2)[:, 0].mul_(x.view(2, 2)[:, 1]),
    "each element itself": lambda x: x.mul_(x),
    "each element itself, in another view": lambda x: x[1:].mul_(x[1:]),
    "a number of its own": lambda x: x.fill_(x[0]),
}


@pytest.mark.parametrize("name", APART)
def test_writes_to_what_is_read_nowhere_else_are_in_the_graph(name):
    check(lambda x: APART[name](x) + 1, torch.arange(4.0), graphs=1)


def test_an_order_of_kernels_that_do_not_look_is_kept():
    """Columns are not dense, and torch does not look whether they overlap: what is read was
    written just before."""

    def fn(x):
        x[:, 1:] = x[:, :-1]
        return x * 2

    check(fn, torch.arange(12.0).view(3, 4), graphs=None, breaks=("GB0064",))
