"""Loops that break in each turn and compile another small graph for each of their elements."""

from __future__ import annotations

import torch
from torch import nn

import suture


class Counting:
    """A compiler that counts the graphs it gets."""

    def __init__(self):
        self.sizes = []

    def __call__(self, gm, inputs):
        self.sizes.append(sum(n.op.startswith("call") for n in gm.graph.nodes))
        return gm.forward


class Experts(nn.Module):
    def __init__(self, count, wide=0):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))
        self.activations = [torch.relu, torch.tanh, torch.sigmoid, torch.sin, torch.cos]
        self.wide = wide

    def forward(self, x):
        for i, expert in enumerate(self.experts):
            suture.graph_break()
            for _ in range(i % 5 + self.wide):
                x = self.activations[i % 5](x)
            x = expert(x) * (i + 0.5)
        return x


def run(model, compiler, seconds):
    suture.reset()
    compiled = suture.compile(model, backend=compiler)
    x = torch.randn(3, 4)
    with torch.no_grad(), suture.config.patch(recompile_limit=64, small_graph_seconds=seconds):
        for _ in range(2):
            torch.testing.assert_close(compiled(x), model(x))
    return suture.stats()


def test_small_graphs_behind_breaks_are_run_as_they_are_once_they_took_long():
    compiler = Counting()
    stats = run(Experts(12), compiler, 0.0)
    assert len(compiler.sizes) <= 2  # at the start of the function, and the first behind a break
    assert stats.plain == stats.graphs - len(compiler.sizes) > 0


def test_large_graphs_behind_breaks_are_compiled():
    compiler = Counting()
    stats = run(Experts(4, wide=30), compiler, 0.0)
    assert len(compiler.sizes) == stats.graphs
    assert stats.plain == 0


def test_a_backend_that_takes_no_time_gets_every_graph():
    compiler = Counting()
    stats = run(Experts(12), compiler, 1000.0)
    assert len(compiler.sizes) == stats.graphs
    assert stats.plain == 0
