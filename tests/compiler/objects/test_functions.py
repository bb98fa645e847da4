"""Functions made while tracing and functools.partial: what they hold and what they answer."""

from __future__ import annotations

import functools

import torch

import suture
from tests.harness import check


def test_function_that_leaves_is_the_one_in_its_own_cell():
    def fn(x):
        def me():
            return me

        def even(n):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - 1)

        return x + 1, me, even

    _, me, even = suture.compile(fn, backend="eager", fullgraph=True)(torch.ones(1))
    assert me() is me
    assert even(4) and not even(3)
    assert even.__closure__[0].cell_contents.__closure__[0].cell_contents is even


def test_partial_answers_for_what_its_class_has():
    names = ("__call__", "__doc__", "__name__", "__repr__", "__dict__", "__reduce__", "other")

    def fn(x):
        add = functools.partial(torch.add, x)
        add.other = 5
        return add(1) + add.other, [hasattr(add, name) for name in names], vars(add)

    check(fn, torch.ones(2), graphs=1)


def test_partial_from_outside_keeps_its_attributes():
    add = functools.partial(torch.add, alpha=2)
    add.scale = 3

    def fn(x):
        return add(x, 1) * add.scale, hasattr(add, "other")

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1))[0].item() == fn(torch.ones(1))[0].item()
    add.scale = 4
    assert compiled(torch.ones(1))[0].item() == fn(torch.ones(1))[0].item()


def test_function_that_torch_would_script_while_tracing_is_followed():
    @torch.jit.script_if_tracing
    def scripted(x, n: int = 2):
        return x * n

    def fn(x):
        return scripted(x) + scripted(x, 3)

    check(fn, torch.ones(2), graphs=1)
