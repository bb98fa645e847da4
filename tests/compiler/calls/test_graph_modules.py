"""Modules that another tracer made, torch.fx or torch.export, are compiled like any other."""

from __future__ import annotations

import torch
from torch import nn

import suture
from tests.harness import check


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, scale=2.0):
        return {"out": self.layer(x).relu() * scale, "mean": x.mean()}


X = torch.randn(2, 3)


def test_traced_module():
    check(torch.fx.symbolic_trace(Net()), X, graphs=1)


def test_traced_module_that_is_called():
    traced = torch.fx.symbolic_trace(Net())

    def fn(x):
        return traced(x)["out"] + traced(x, 3.0)["mean"]

    check(fn, X, graphs=1)


def test_exported_module():
    exported = torch.export.export(Net(), (X,)).module()
    compiled = suture.compile(exported, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X), exported(X))
    compiled = suture.compile(lambda x: exported(x)["out"] + 1, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X), exported(X)["out"] + 1)


def test_edited_module():
    traced = torch.fx.symbolic_trace(Net())
    relu = next(n for n in traced.graph.nodes if n.target == "relu")
    relu.target = "tanh"
    traced.recompile()
    check(traced, X, graphs=1)
