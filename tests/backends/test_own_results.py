"""A copy of what a graph writes to is a tensor of its own, through Inductor too."""

from __future__ import annotations

import pytest
import torch

import suture


def row(d, x):
    d[0] = x[0]
    return d[0].clone()


def whole(d, x):
    d[0] = x[0]
    return d.clone()


def rows(d, x):
    d[0] = x[0]
    return [one.clone() for one in d[:2]]


def lists(d, x):
    torch._foreach_add_([d], [x], alpha=-0.5)
    return d.detach().clone()


def once(d, x):
    d[1:] = x[1:]
    return d * 1


def in_place(d, x):
    d.add_(x)
    return d.clone(), d.sum()


def written_on(d, x):
    d[0] = x[0]
    kept = d.clone()
    d[1] = 2
    return kept


def added_to(d, x):
    d[0] = x[0]
    kept = d.clone()
    d.add_(1)
    return kept, d.sum()


PROGRAMS = [row, whole, rows, lists, once, in_place, written_on, added_to]


@pytest.mark.parametrize("fn", PROGRAMS)
def test_a_copy_stays_what_it_was(fn):
    def kept(called):
        d = torch.zeros(3, 3)
        found = [called(d, torch.full((3, 3), float(k))) for k in (1, 2, 3)]
        return [*torch.utils._pytree.tree_leaves(found), d]

    for a, b in zip(kept(suture.compile(fn)), kept(fn), strict=True):
        torch.testing.assert_close(a, b)


def test_a_copy_of_a_parameter_is_no_parameter():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 3, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, foreach=True)

    def step(x):
        layer(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        return layer.weight.detach().clone()

    compiled = suture.compile(step)
    first = compiled(torch.ones(5, 4))
    assert type(first) is torch.Tensor and not first.requires_grad
    before = first.clone()
    compiled(torch.ones(5, 4))
    assert torch.equal(first, before)
    assert not torch.equal(first, layer.weight)


def test_two_copies_are_two_tensors():
    def fn(x):
        y = x * 2
        return y.clone(), y.clone()

    one, other = suture.compile(fn)(torch.ones(3))
    one.add_(1)
    assert torch.equal(other, torch.full((3,), 2.0))
