"""The whole thing end to end, in seconds."""

from __future__ import annotations

import torch

import suture
from tests.harness import check


def test_one_graph():
    def fn(x, y):
        z = x + y * 2
        for i in range(3):
            z = z.sin() + i
        return z, [x, z.shape]

    check(fn, torch.randn(3, 4), torch.randn(3, 4), graphs=1)


def test_break_in_a_loop():
    def fn(x):
        for i in range(5):
            x = x + 1
            if i == 3:
                suture.graph_break()
        return x

    check(fn, torch.ones(3), graphs=2, breaks=("GB0025",))


def test_break_in_try_and_except():
    def fn(x):
        try:
            x = x * 2
            suture.graph_break()
            raise ValueError("hi")
        except ValueError:
            x = x + 10
            suture.graph_break()
            x = x * 2
        finally:
            x = x - 1
        return x

    check(fn, torch.ones(3), graphs=3, breaks=("GB0025", "GB0025"))


def test_break_three_calls_deep_gives_two_graphs():
    def inner(x):
        x = x + 1
        suture.graph_break()
        return x * 2

    def middle(x):
        return inner(x + 1) * 3

    def fn(x):
        return middle(x * 2) + 4

    check(fn, torch.ones(3), graphs=2, breaks=("GB0025",))


def test_module():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    check(model, torch.randn(5, 3), graphs=1)


def test_branch_on_a_tensor():
    def fn(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    check(fn, torch.ones(3), graphs=2, breaks=("GB0170",))
