"""Lists that layers share: an entry is appended by each, read and replaced at the layer's number,
with a variant for all layers; and all the ways in which a program may look at such a list."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from tests.programs.dynamic.counting import compilations


class Pairs:
    def __init__(self, count):
        self.pairs = []

    def update(self, k, i):
        if i == len(self.pairs):
            self.pairs.append((k, k * 2))
        else:
            old, twice = self.pairs[i]
            self.pairs[i] = torch.cat([old, k], 1), torch.cat([twice, k * 2], 1)
        return self.pairs[i]


class TwoLists:
    def __init__(self, count):
        self.keys, self.values = [], []

    def update(self, k, i):
        if len(self.keys) <= i:
            self.keys.append(k)
            self.values.append(k * 2)
        else:
            self.keys[i] = torch.cat([self.keys[i], k], 1)
            self.values[i] = torch.cat([self.values[i], k * 2], 1)
        return self.keys[i], self.values[i]


class Window:
    def __init__(self, count):
        self.held = [None] * count

    def update(self, k, i):
        if self.held[i] is not None:
            k = torch.cat([self.held[i], k], 1)[:, -8:]
        self.held[i] = k
        return k, k * 2


class Places:
    def __init__(self, count):
        self.held = [torch.zeros(2, 32, 8) for _ in range(count)]
        self.ends = [0] * count

    def update(self, k, i):
        end = self.ends[i] + k.shape[1]
        self.held[i][:, self.ends[i] : end] = k
        self.ends[i] = end
        return self.held[i][:, :end], self.held[i][:, :end] * 2


class Layer(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index, self.key = index, nn.Linear(8, 8)

    def forward(self, x, cache):
        k, v = cache.update(self.key(x), self.index)
        return x + (x @ k.transpose(1, 2)).softmax(-1) @ v


def decoded(layers, cache, steps=12):
    torch.manual_seed(0)
    x, seen = torch.randn(2, 5, 8), []
    with torch.no_grad():
        for _ in range(steps):
            for layer in layers:
                x = layer(x, cache)
            x = x[:, -1:].clone()
            seen.append(x)
    return torch.cat(seen)


# The first layer, the others, and decoding, with another variant where it is known only then that
# entries get longer; the window has one while it fills.
@pytest.mark.parametrize(("kind", "most"), [(Pairs, 4), (TwoLists, 3), (Window, 6), (Places, 3)])
def test_layers_share_variants_however_many_there_are(kind, most):
    for count in (4, 10):
        torch.manual_seed(1)
        layers = [Layer(i) for i in range(count)]
        want = decoded(layers, kind(count))
        suture.reset()
        compiled = [suture.compile(layer, backend="eager") for layer in layers]
        with suture.config.patch(strict=True):
            got = decoded(compiled, kind(count))
        torch.testing.assert_close(got, want)
        stats = suture.stats()
        assert not stats.interpreted
        assert stats.variants <= most, [r.reason for r in stats.recompilations]


def test_the_length_of_a_list_that_grows_is_a_number_that_changes():
    def fn(x, seen):
        seen.append(x.sum())
        return x + len(seen)

    x, seen = torch.ones(2), []
    counts = []
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for n in range(1, 12):
        assert torch.equal(compiled(x, seen), x + n)
        counts.append(suture.stats().variants)
    assert len(seen) == 11
    assert counts[-1] <= 2


LOOKS = {
    "by the same index": lambda items, i, j: items[i],
    "by another index": lambda items, i, j: items[j],
    "by a place": lambda items, i, j: items[1],
    "from the end": lambda items, i, j: items[-1],
    "all": lambda items, i, j: list(items),
    "length": lambda items, i, j: len(items),
    "slice": lambda items, i, j: items[1:],
    "taken out": lambda items, i, j: (items.pop(), items.pop(0)),
    "appended": lambda items, i, j: (items.append(items[i]), items[i], len(items)),
    "twice": lambda items, i, j: (items.__setitem__(i, items[i] + 1), items[i]),
    "exchanged": lambda items, i, j: (items.__setitem__(j, items[i]), items[i] is items[j]),
    "iterated": lambda items, i, j: [item.sum() for item in items],
    "reversed": lambda items, i, j: (items.reverse(), items[i]),
    "compared": lambda items, i, j: (items[i] is items[j], items == items),
    "copied": lambda items, i, j: items.copy(),
    "doubled": lambda items, i, j: items * 2,
    "with a break": lambda items, i, j: (suture.graph_break(), items[i], len(items)),
}


@pytest.mark.parametrize("look", list(LOOKS))
@pytest.mark.parametrize("read_before", [True, False])
def test_a_list_is_looked_at_after_an_entry_was_replaced(look, read_before):
    ask = LOOKS[look]

    def fn(x, items, i, j):
        other = items[j] * 2 if read_before else x
        items[i] = items[i] + x
        return ask(items, i, j), other, items

    calls = [(0, 1), (1, 0), (2, 1), (1, 1), (2, 2), (0, 2), (-1, 0), (-1, 2), (2, -1), (5, 0)]

    def given(i, j):
        return torch.ones(2), [torch.full((2,), float(n)) for n in range(3)], i, j

    compilations(fn, *(given(i, j) for i, j in calls), raises=True, recompile_limit=16)


def test_one_list_under_two_names_and_one_tensor_at_two_places():
    def fn(x, first, second, i):
        kept = second[i]
        first[i] = first[i] + x
        return second[i], kept, first is second, first[i] is second[i]

    def calls():
        x, shared = torch.ones(2), torch.zeros(2)
        for i in (0, 1, 2, 0, 2, 1):
            one = [torch.full((2,), float(n)) for n in range(3)]
            yield x, one, one, i
            yield x, one, [shared, shared, shared], i
            yield x, [shared, shared, x], one, i
            yield x, [x, x, x], [x, x, x], i

    compilations(fn, *calls(), recompile_limit=32)


def test_an_entry_that_is_replaced_is_freed_where_the_program_drops_it():
    class Told:
        def __init__(self, log, number):
            self.log, self.number = log, number

        def __del__(self):
            self.log.append(f"freed {self.number}")

    def fn(x, items, i, log):
        number = items[i].number
        items[i] = None
        log.append("replaced")
        return x + number

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for i in (0, 1, 2, 1, 0):
        logs = []
        for run in (fn, compiled):
            log: list = []
            items = [Told(log, n) for n in range(3)]
            assert torch.equal(run(torch.ones(2), items, i, log), torch.ones(2) + i)
            logs.append(log[:2])
        assert logs[0] == logs[1]


def test_an_entry_appended_at_the_index_that_is_the_length():
    def fn(x, items, i):
        items.append(x * i)
        items.append(x + i)
        return items[i] - x, items[i + 1], len(items)

    def calls():
        for count, i in ((0, 0), (1, 1), (2, 2), (3, 3), (3, 1), (4, 5), (2, 3), (3, 2), (2, 9)):
            yield torch.ones(2), [torch.full((2,), 9.0 + n) for n in range(count)], i

    compilations(fn, *calls(), raises=True, recompile_limit=16)


def test_a_ring_of_entries_has_a_place_that_changes():
    class Ring:
        def __init__(self):
            self.held, self.at = [torch.zeros(2) for _ in range(4)], 0

        def step(self, x):
            self.held[self.at] = x * 2
            self.at = (self.at + 1) % len(self.held)
            return self.held[self.at] + x

    plain, ours = Ring(), Ring()
    suture.reset()
    compiled = suture.compile(ours.step, backend="eager")
    for n in range(12):
        x = torch.full((2,), float(n))
        assert torch.equal(compiled(x), plain.step(x))
        assert ours.at == plain.at
        torch.testing.assert_close(ours.held, plain.held)
