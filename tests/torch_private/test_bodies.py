"""Bodies that are known to write nothing are not traced again for each call of them."""

from __future__ import annotations

import operator

import pytest
import torch
from torch import fx, nn
from torch._guards import InvokeSubgraphCache

import suture
from suture import events
from suture.torch_private import bodies

OPERATOR = torch.ops.higher_order.invoke_subgraph
needs_setting = pytest.mark.skipif(
    not hasattr(OPERATOR, bodies._MAY_WRITE), reason="this torch always looks"
)


def may_write():
    return getattr(OPERATOR, bodies._MAY_WRITE)


def calling(*layers):
    """A graph that calls each of these bodies."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    holder = nn.Module()
    for i, layer in enumerate(layers):
        setattr(holder, f"body_{i}", layer)
        made = graph.call_function(OPERATOR, (graph.get_attr(f"body_{i}"), f"body_{i}", x))
        x = graph.call_function(operator.getitem, (made, 0))
    graph.output((x,))
    return fx.GraphModule(holder, graph)


def body():
    class Layer(nn.Module):
        def forward(self, x):
            return (x.sin(),)

    return fx.symbolic_trace(Layer())


@needs_setting
def test_torch_does_not_look_into_known_bodies():
    before = may_write()
    with bodies.known_bodies(calling(bodies.writes_nothing(body()))):
        assert may_write() is True
    assert may_write() is before


@needs_setting
def test_torch_looks_where_one_body_is_not_known():
    before = may_write()
    known = bodies.writes_nothing(body())
    for graph in (calling(known, body()), calling(body()), calling()):
        with bodies.known_bodies(graph):
            assert may_write() is before


@needs_setting
def test_torch_looks_again_after_a_failure():
    before = may_write()
    with (
        pytest.raises(ZeroDivisionError),
        bodies.known_bodies(calling(bodies.writes_nothing(body()))),
    ):
        raise ZeroDivisionError
    assert may_write() is before


@needs_setting
def test_layers_are_not_traced_for_each_call(monkeypatch):
    seen = []
    real = type(OPERATOR).gen_schema

    def counted(self, subgraph, identifier, *operands):
        seen.append(identifier)
        return real(self, subgraph, identifier, *operands)

    monkeypatch.setattr(type(OPERATOR), "gen_schema", counted)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 4))

        def forward(self, x):
            y = (x @ self.weight).sin().cos().tanh().sigmoid() * 2
            return x + y.exp() - 1

    net = nn.Sequential(*(Layer() for _ in range(6)))
    x = torch.randn(2, 4, requires_grad=True)
    compiled = suture.compile(net, backend="aot_eager")
    with events.recorded(events.LayersShared) as shared:
        result = compiled(x)
    assert [e.times for e in shared] == [6]
    expected = net(x)
    torch.testing.assert_close(result, expected)
    weights = list(net.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(result.sum(), weights), torch.autograd.grad(expected.sum(), weights)
    )
    if hasattr(InvokeSubgraphCache, "add_functionalize_schema_entry"):
        assert len(seen) == len(set(seen)) <= 3  # once for what the forward is, and the backward
    else:  # 2.12 keeps nothing where it makes writes explicit: each forward twice, each backward
        assert len(seen) <= 3 * 6
