"""What torch keeps besides the tensors: caches, generators, and what transforms hide."""

from __future__ import annotations

import pytest
import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.utils.checkpoint import checkpoint

import suture


def _both(program):
    """What a program tells, plainly and with its function compiled."""
    told = []
    for compiled in (False, True):
        suture.reset()
        torch.manual_seed(0)
        compile = (lambda fn: suture.compile(fn, backend="eager")) if compiled else (lambda fn: fn)
        told.append([str(part) for part in program(compile)])
    assert told[0] == told[1]


class Symmetric(nn.Module):
    runs = 0

    def forward(self, weight):
        Symmetric.runs += 1
        return weight.triu() + weight.triu(1).T


def cached_outside(compile):
    Symmetric.runs = 0
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    run = compile(lambda x: layer(x) + layer(x) + (layer.weight is layer.weight))
    for _ in range(3):
        yield run(torch.ones(3))
        with parametrize.cached():
            yield run(torch.ones(3)), Symmetric.runs
            yield run(torch.ones(3)), Symmetric.runs, layer.weight is layer.weight
        with torch.no_grad():
            layer.parametrizations.weight.original.add_(1)


def cached_inside(compile):
    Symmetric.runs = 0
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())

    def fn(x):
        with parametrize.cached():
            return layer(x) + layer(x)

    run = compile(fn)
    for _ in range(3):
        yield run(torch.ones(3)), Symmetric.runs
        with torch.no_grad():
            layer.parametrizations.weight.original.add_(1)


def unwrapped(compile):
    seen = []

    def row(r):
        shown = torch.func.debug_unwrap(r)
        seen.append(tuple(shown.shape))
        return r + torch.func.debug_unwrap(r, recurse=False).shape[0] + shown.dim()

    run = compile(lambda x: torch.func.vmap(row)(x))
    for size in (3, 3, 4):
        yield run(torch.ones(size, 2)), list(seen)


def changed_in_place(compile):
    def fn(x, y):
        out = torch.func.vmap(lambda r, s: r.mul_(s))(x, y)
        out.add_(1)
        again = torch.vmap(torch.Tensor.sin_)(x)
        return out, out is x, again is x, torch.func.vmap(lambda r: r)(x) is x

    run = compile(fn)
    for _ in range(2):
        x = torch.ones(3, 2)
        yield run(x, torch.full((3, 2), 2.0)), x


def checkpointed(reentrant, preserve):
    def program(compile):
        block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

        def fn(x):
            for _ in range(2):
                x = checkpoint(block, x, use_reentrant=reentrant, preserve_rng_state=preserve)
            return x.sum()

        run = compile(fn)
        for _ in range(3):
            torch.manual_seed(5)
            x = torch.ones(8, 4, requires_grad=True)
            loss = run(x)
            loss.backward()
            yield loss, x.grad, torch.rand(1)

    return program


@pytest.mark.parametrize("program", [cached_outside, cached_inside, unwrapped, changed_in_place])
def test_like_eager(program):
    _both(program)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_dropout_in_a_checkpoint_draws_as_in_eager(reentrant, preserve):
    _both(checkpointed(reentrant, preserve))
