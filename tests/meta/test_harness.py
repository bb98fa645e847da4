"""What `check` of tests/harness.py asserts, it asserts: a wrong expectation fails."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check, operations

X = torch.randn(3)


def two_graphs(x):
    y = torch.sin(x) + 1
    suture.graph_break()
    return y.cos()


def test_the_operations_of_each_graph():
    check(two_graphs, X, ops=[["sin", "add"], ["cos"]], breaks=("GB0025",))


@pytest.mark.parametrize(
    "wrong",
    [
        [["sin"], ["cos"]],
        [["add", "sin"], ["cos"]],
        [["sin", "add", "cos"]],
        [["sin", "add"]],
        [["sin", "add"], ["cos"], []],
    ],
)
def test_wrong_operations_fail(wrong):
    with pytest.raises(AssertionError, match="operations"):
        check(two_graphs, X, ops=wrong, breaks=("GB0025",))


def test_names_of_operations():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.get_attr("weight")
    graph.call_function(torch.sin, (x,))
    graph.call_method("sin", (x,))
    graph.call_function(torch.ops.aten.sin.default, (x,))
    graph.call_function(torch.ops.aten.sum.dim_IntList, (x, [0]))
    graph.call_module("linear", (x,))
    graph.output(x)
    assert operations(graph) == ["sin", "sin", "sin", "sum.dim_IntList", "linear"]
