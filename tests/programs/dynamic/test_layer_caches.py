"""Caches in classes of the program's own, read by layers that are compiled one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

import suture
from tests.programs.dynamic.counting import by_dynamo, compilations


@dataclass
class Growing:
    k: torch.Tensor | None = None
    pos: int = 0

    def update(self, k):
        self.k = k if self.k is None else torch.cat([self.k, k], 1)
        self.pos += k.shape[1]
        return self.k

    def crop(self, length):
        if self.k is not None and length < self.pos:
            self.k, self.pos = self.k[:, :length].clone(), length


@dataclass
class Static:
    size: int = 32
    k: torch.Tensor | None = None
    pos: int = 0

    def update(self, k):
        if self.k is None:
            self.k = k.new_zeros(k.shape[0], self.size, k.shape[2])
        end = self.pos + k.shape[1]
        self.k[:, self.pos : end] = k
        self.pos = end
        return self.k[:, :end]

    def crop(self, length):
        self.pos = min(self.pos, length)


@dataclass
class Cache:
    layers: list = field(default_factory=list)


class Layer(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.key, self.out = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, cache):
        k = cache.layers[self.index].update(self.key(x))
        return x + self.out((x @ k.transpose(1, 2)).softmax(-1) @ k)


def decoded(kind, layers, steps=9):
    torch.manual_seed(0)
    cache = Cache([kind() for _ in layers])
    x, seen = torch.randn(2, 5, 8), []
    with torch.no_grad():
        for step in range(steps):
            for layer in layers:
                x = layer(x, cache)
            x = x[:, -1:].clone()
            seen.append(x)
            if step == 5:
                for one in cache.layers:
                    one.crop(7)
    return torch.cat(seen), [one.pos for one in cache.layers]


def made_layers(count=5):
    torch.manual_seed(1)
    return [Layer(i) for i in range(count)]


@pytest.mark.parametrize(("kind", "most"), [(Static, 3), (Growing, 3)])
def test_layers_that_read_their_own_entry_of_a_cache_share_variants(kind, most):
    want, positions = decoded(kind, made_layers())
    suture.reset()
    compiled = [suture.compile(layer, backend="eager") for layer in made_layers()]
    with suture.config.patch(strict=True):
        got, places = decoded(kind, compiled)
    torch.testing.assert_close(got, want)
    assert places == positions
    stats = suture.stats()
    assert not stats.interpreted
    assert stats.variants <= most, [r.reason for r in stats.recompilations]


def test_a_model_with_such_a_cache_compiles_no_more_than_torch():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(made_layers(3))

        def forward(self, x, cache):
            for layer in self.layers:
                x = layer(x, cache)
            return x[:, -1:]

    for kind in (Static, Growing):
        model = Model()
        want, _ = decoded(kind, [Wrapped(model)], 9)
        suture.reset()
        got, _ = decoded(kind, [Wrapped(suture.compile(model, backend="eager"))], 9)
        torch.testing.assert_close(got, want)
        ours = suture.stats().variants
        compiled = torch.compile(model, backend="eager")
        theirs = by_dynamo(lambda: decoded(kind, [Wrapped(compiled)], 9), ())
        assert ours <= 3, [r.reason for r in suture.stats().recompilations]
        assert ours <= max(theirs, 3)


class Wrapped:
    """Hands a model of three layers a cache of three entries."""

    def __init__(self, model):
        self.model, self.cache = model, {}

    def __call__(self, x, cache):
        if len(cache.layers) == 1:
            cache.layers.extend(type(cache.layers[0])() for _ in range(2))
        return self.model(x, cache)


def test_an_entry_that_is_shared_or_missing_is_told_apart():
    def fn(x, items, i, j):
        items[i].append(x)
        return len(items[j]), items[i] is items[j], x + 1

    def calls():
        x = torch.ones(2)
        one: list = []
        for i, j in ((0, 1), (1, 0), (2, 0), (1, 1), (2, 2), (-1, 2), (0, 1)):
            yield x, [[], [], []], i, j
        yield x, [one, one, []], 0, 1
        yield x, [[], one, one], 1, 2
        yield x, [[], [], []], 0, 5

    compilations(fn, *calls(), raises=True)


def test_items_of_other_kinds_at_an_index_that_changes():
    items = [1, 2.5, None, "text", torch.ones(2), [3], (4, 5), torch.ones(3), 7, 2**70, True]

    def fn(x, items, i):
        return x.sum() * 2, items[i]

    compilations(fn, *[(torch.ones(2), items, i) for i in (*range(len(items)), -2, 0, 4)])


def test_a_list_that_the_region_changes_is_read_by_its_new_items():
    def fn(x, items, i):
        first = items[i]
        items[0] = x * 3
        second = items[i]
        items.append(x)
        return first + second + items[i]

    def calls():
        for i in (0, 1, 2, 0, -1, 1):
            yield torch.ones(2), [torch.full((2,), float(n)) for n in range(3)], i

    compilations(fn, *calls())


def test_a_loop_with_a_break_reads_its_lists_by_one_variant():
    def fn(x, weights, scales):
        for i in range(len(weights)):
            x = x * weights[i] + scales[i]
            suture.graph_break()
        return x

    counts = []
    for count in (6, 12):
        weights = [torch.full((2,), float(n)) for n in range(1, count + 1)]
        scales = [n + 0.5 for n in range(count)]
        counts.append(compilations(fn, *[(torch.ones(2), weights, scales)] * 3))
    assert counts[0] == counts[1]
    assert counts[0][0] == counts[0][-1]
