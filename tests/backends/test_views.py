"""Views that a graph ends with are taken outside of it: the program cannot tell."""

from __future__ import annotations

import re

import pytest
import torch

import suture
from suture.runtime.callers import plain


@pytest.fixture(autouse=True)
def never_plain(monkeypatch):
    """Graphs go through the backend, however small."""
    monkeypatch.setattr(plain, "_GAIN", 0.0)


@pytest.fixture(scope="module")
def layer():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 8)


def ways(compiled):
    return re.findall(r"# the graph is called (\w+):", suture.code(compiled))


PROGRAMS = {
    "one view": lambda x, f: f(x).view(2, 2, -1),
    "a chain of them": lambda x, f: f(x).transpose(0, 1)[1:3].unsqueeze(-1),
    "parts": lambda x, f: f(x).chunk(2, -1),
    "one of several parts": lambda x, f: f(x).split([3, 5], 1)[1],
    "a value and its view": lambda x, f: (lambda y: (y, y.view(-1)))(f(x)),
    "two views of one value": lambda x, f: (lambda y: (y[:, 0], y.t()))(f(x)),
    "a view that is computed with": lambda x, f: (lambda v: (v, v.sin()))(f(x).t()),
    "views of the input": lambda x, f: (x.t(), x[1:], f(x)),
    "a function instead of a method": lambda x, f: torch.flatten(f(x), 0),
    "an index with None and an ellipsis": lambda x, f: f(x)[None, ..., 2],
    "reshape": lambda x, f: f(x).reshape(-1, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_derivatives(layer, name):
    def fn(x):
        return PROGRAMS[name](x, layer)

    compiled = suture.compile(fn, fullgraph=True)
    for n in range(3):
        both = []
        for run in (compiled, fn):
            x = (torch.arange(16.0).reshape(4, 4) / 9 + n).requires_grad_()
            layer.zero_grad()
            outs = run(x)
            outs = outs if isinstance(outs, tuple) else (outs,)
            sum((out * out).sum() for out in outs).backward()
            bases = [None if o._base is None else tuple(o._base.shape) for o in outs]
            facts = [(o.shape, o.stride(), o.storage_offset()) for o in outs]
            both.append([outs, x.grad, layer.weight.grad.clone(), [str(facts), str(bases)]])
        torch.testing.assert_close(both[0][:3], both[1][:3])
        assert both[0][3] == both[1][3]
    assert ways(compiled) == ["training"]


def test_what_is_written_to_a_view_is_in_what_it_is_a_view_of(layer):
    def fn(x):
        y = layer(x)
        return y, y[0]

    compiled = suture.compile(fn)
    for _ in range(3):
        both = []
        for run in (compiled, fn):
            whole, row = run(torch.ones(4, 4))
            row.mul_(3)
            layer.zero_grad()
            whole.sum().backward()
            both.append([whole.detach(), layer.weight.grad.clone()])
        torch.testing.assert_close(*both)


def test_views_of_an_input_that_the_graph_writes_to():
    def fn(x):
        row = x[0]
        row.add_(1)
        x.mul_(2)
        return row, x.view(-1), x.sin()

    compiled = suture.compile(fn)
    for _ in range(3):
        x, same = torch.ones(2, 3), torch.ones(2, 3)
        outs, others = compiled(x), fn(same)
        torch.testing.assert_close((x, outs), (same, others))
        outs[0].zero_()
        assert x[0].sum() == 0 and outs[1][:3].sum() == 0


def test_shapes_that_are_symbols(layer):
    def fn(x, n):
        y = layer(x)
        return y.view(-1, n), y[: x.shape[0] - 1], x.view(-1)

    compiled = suture.compile(fn, dynamic=True)
    for rows, n in ((4, 2), (6, 4), (10, 8)):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x, n), fn(x, n))


def test_a_tensor_whose_shape_changes_is_left_to_the_backend():
    def fn(x):
        y = x.view(-1)
        x.t_()
        return y, x.view(-1) if x.is_contiguous() else x.t(), x + 1

    compiled = suture.compile(fn)
    for _ in range(3):
        x, same = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)
        torch.testing.assert_close(compiled(x), fn(same))
        assert x.shape == same.shape


def test_an_index_that_copies_is_no_view():
    def fn(x):
        return x[[0, 1]], x[torch.tensor([1])], x[x > 0]

    compiled = suture.compile(fn)
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(2):
        outs = compiled(x)
        torch.testing.assert_close(outs, fn(x))
        for out in outs:
            out.zero_()
    assert x.sum() == 15


def test_other_backends_get_the_whole_graph():
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    suture.compile(lambda x: (x + 1).view(-1), backend=keep)(torch.ones(2, 2))
    assert [n.target for n in graphs[0].graph.nodes if n.op == "call_method"] == ["view"]
