"""Through Inductor a sum with a factor keeps it, where one side is a product of matrices."""

from __future__ import annotations

import pytest
import torch

import suture

SUMS = {
    "a method": lambda m, a, b: m.add(a @ b, alpha=0.1),
    "in place": lambda m, a, b: m.mul_(0.9).add_(a @ b, alpha=0.1),
    "a function": lambda m, a, b: torch.add(m, torch.mm(a, b), alpha=2),
    "an operator": lambda m, a, b: torch.ops.aten.add.Tensor(m, a @ b, alpha=0.1),
    "the product first": lambda m, a, b: (a @ b).add(m, alpha=0.1),
    "a linear layer": lambda m, a, b: m.add(torch.nn.functional.linear(a, b.T), alpha=0.1),
    "a row": lambda m, a, b: m[0].add(a @ b, alpha=0.1),
}


@pytest.mark.parametrize("name", SUMS)
def test_the_factor_counts(name):
    def given():
        generator = torch.Generator().manual_seed(0)
        return [torch.randn(s, generator=generator) for s in ((5, 3), (5, 6), (6, 3))]

    compiled = suture.compile(SUMS[name])
    torch.testing.assert_close(compiled(*given()), SUMS[name](*given()))


def test_the_learning_rate_counts_in_a_step_that_is_one_graph():
    def train(compiler):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 3, bias=False)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

        def step(x):
            layer(x).pow(2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        called = compiler(step)
        for _ in range(3):
            called(torch.randn(5, 4))
        return layer.weight

    torch.testing.assert_close(train(suture.compile), train(lambda step: step))
