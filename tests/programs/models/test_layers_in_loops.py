"""Layers that a loop walks over, with a break in its body: the body is compiled once for all."""

from __future__ import annotations

import torch

import suture
from suture import events
from tests.harness import Graphs, check


class Block(torch.nn.Module):
    def __init__(self, place=0):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)
        self.place = place

    def forward(self, x):
        return self.norm(self.linear(x)).relu()


class Dropping(torch.nn.Module):
    """Leaves layers out by chance."""

    def __init__(self, count):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            if torch.rand([]) >= 0.001:
                x = x + layer(x)
        return x.sum()


def graphs_of(model, *args, calls=3):
    """How many graphs each call made."""
    graphs, out = Graphs(), []
    compiled = suture.compile(model, backend=graphs)
    for _ in range(calls):
        before = len(graphs)
        torch.manual_seed(0)
        want = model(*args)
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(*args), want)
        out.append(len(graphs) - before)
    return out


def test_more_layers_make_no_more_graphs():
    few, many = graphs_of(Dropping(3), torch.randn(2, 4)), graphs_of(Dropping(7), torch.randn(2, 4))
    assert many[0] <= few[0]


def test_the_second_call_goes_the_way_of_the_first():
    for count in (2, 3, 5):
        assert graphs_of(Dropping(count), torch.randn(2, 4))[1:] == [0, 0]


class Experts(torch.nn.ModuleDict):
    def __init__(self, count):
        super().__init__({f"expert_{i}": Block(i) for i in range(count)})

    def forward(self, x, chosen):
        out = torch.zeros_like(x)
        for number in chosen.unique():
            rows = torch.where(chosen == number)[0]
            out.index_add_(0, rows, self[f"expert_{number}"](x[rows]))
        return out


class Mixture(torch.nn.Module):
    def __init__(self, layers, experts):
        super().__init__()
        self.layers = torch.nn.ModuleList(Experts(experts) for _ in range(layers))

    def forward(self, x, chosen):
        for layer in self.layers:
            x = x + layer(x, chosen)
        return x.sum()


def test_experts_found_by_a_number_of_the_data_share_their_graphs():
    few, many = Mixture(2, 3), Mixture(4, 5)
    chosen = torch.arange(10) % 3
    first = graphs_of(few, torch.randn(10, 4), chosen)
    more = graphs_of(many, torch.randn(10, 4), torch.arange(10) % 5)
    assert more[0] <= first[0] + 1
    assert first[1:] == more[1:] == [0, 0]


def test_a_layer_that_stays_is_still_held_by_its_graph():
    class Repeated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block()

        def forward(self, x):
            for _ in range(3):
                if torch.rand([]) >= 0.001:
                    x = x + self.block(x)
            return x.sum()

    model = Repeated()
    compiled = suture.compile(model, backend="eager")
    compiled(torch.randn(2, 4))
    held = [line for line in suture.code(compiled).splitlines() if "held" in line]
    assert held


def test_layers_of_different_kinds_are_told_apart():
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([Block(), torch.nn.Linear(4, 4), Block(), Block(2)])

        def forward(self, x):
            for layer in self.layers:
                print(end="", flush=True)
                torch._dynamo.graph_break()
                x = layer(x) + getattr(layer, "place", 1)
            return x.sum()

    with events.recorded(events.Interpreted) as seen:
        check(Mixed(), torch.randn(2, 4), graphs=None, breaks=None, recompiles=None)
    assert not seen
