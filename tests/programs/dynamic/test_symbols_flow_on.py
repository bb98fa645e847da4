"""What is a symbol where a region ends is one where the next begins, from its first value on."""

from __future__ import annotations

import torch

import suture
from tests.harness import Graphs


def compiled(fn):
    suture.reset()
    graphs = Graphs()
    return suture.compile(fn, backend=graphs), graphs


def greedy(scores, margin):
    """Keeps the first, drops what is near it, and so on: sizes come from data in each turn."""
    order = scores.argsort()
    kept = []
    while order.numel() > 0:
        first = order[0]
        kept.append(first)
        rest = order[1:]
        order = rest[scores[rest] > scores[first] + margin]
    return torch.stack(kept)


def test_sizes_from_data_have_one_variant_for_all_of_them():
    torch.manual_seed(0)
    run, graphs = compiled(greedy)
    scores = torch.randn(24)
    torch.testing.assert_close(run(scores, 0.1), greedy(scores, 0.1))
    assert len(graphs) <= 4, graphs.ops()  # the first turn, one like it, the last ones
    for seed in range(4):
        torch.manual_seed(seed)
        scores = torch.randn(24)
        torch.testing.assert_close(run(scores, 0.1), greedy(scores, 0.1))
    assert not suture.stats().interpreted


def test_a_size_that_changes_before_a_break_changes_behind_it():
    def fn(x):
        y = x.sin()
        suture.graph_break()
        return y.cos()

    run, graphs = compiled(fn)
    for size in (3, 4, 5, 6):
        x = torch.randn(size)
        torch.testing.assert_close(run(x), fn(x))
    assert len(graphs) == 4


def test_a_size_that_a_mask_makes_is_a_symbol_behind_a_break_at_once():
    def fn(x):
        y = x[x > 0]
        suture.graph_break()
        return y.cos()

    run, graphs = compiled(fn)
    for count in (3, 5, 7):
        x = torch.cat([torch.ones(count), -torch.ones(9 - count)])
        torch.testing.assert_close(run(x), fn(x))
    assert len(graphs) == 2


def test_a_number_that_is_a_symbol_stays_one():
    def fn(x, n):
        m = n * 2
        suture.graph_break()
        return x + m

    run, graphs = compiled(fn)
    for n in (2, 5, 7, 9):
        torch.testing.assert_close(run(torch.ones(3), n), torch.ones(3) + 2 * n)
    assert len(graphs) == 2
