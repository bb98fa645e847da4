"""Loops that break in each turn: what a turn changes is known to change, so that the body is
compiled once for all turns, and what the program computes is what it computes in eager mode."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from suture import config


@pytest.fixture(autouse=True)
def breaks_stay():
    with config.patch(speculate_after=0):
        yield


def counted(fn, given):
    """Plain and compiled, call by call, compared; how many graphs were compiled."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    before = suture.stats()
    for seed, args in enumerate(given):
        torch.manual_seed(seed)
        expected = fn(*(a.clone() for a in args))
        torch.manual_seed(seed)
        torch.testing.assert_close(compiled(*(a.clone() for a in args)), expected)
    after = suture.stats()
    assert not after.interpreted
    return after.graphs - before.graphs


def test_a_number_that_counts_turns_is_a_symbol_at_once():
    def fn(x):
        done = torch.zeros(x.shape[0], dtype=torch.bool)
        turns = 0
        while not done.all():
            x = x * 0.7
            done = done | (x.abs() < 0.1)
            turns += 1
        return x, turns

    given = [(torch.linspace(0.5, 1.0 + k, 4),) for k in range(6)]
    assert counted(fn, given) == 2  # up to the first branch, and one turn


def test_a_loop_over_layers_is_compiled_as_one_from_its_second_turn_on():
    class Dropped(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(6)])

        def forward(self, x):
            for layer in self.layers:
                if torch.rand(()) < 0.4:
                    continue
                x = layer(x).relu()
            return x

    model = Dropped().eval().requires_grad_(False)
    # The number of the first layer, that of the others, and a layer that is not dropped.
    assert counted(model, [(torch.ones(2, 4) * k,) for k in range(8)]) == 3


def test_turns_that_make_a_tensor_longer_share_a_body():
    def fn(ids):
        for _ in range(9):
            ids = torch.cat([ids, ids[-1:] + 1])
            if (ids > 12).all():
                break
        return ids

    # Up to the first branch, and one turn.
    assert counted(fn, [(torch.arange(2) + k,) for k in range(5)]) <= 3


def suppressed(boxes, order):
    """What is left of a tensor gets shorter in each turn, down to no row."""
    kept = []
    while order.numel() > 0:
        first = order[0]
        kept.append(boxes[first])
        order = order[1:][(boxes[order[1:]] - boxes[first]).abs() > 0.5]
    return torch.stack(kept)


def test_what_gets_shorter_is_compiled_for_one_for_two_and_for_more():
    generator = torch.Generator().manual_seed(0)
    given = [(torch.rand(8, generator=generator) * 6, torch.randperm(8)) for _ in range(4)]
    # The first turn, those with many, two and one, and a stack for each number that was kept.
    lengths = {len(suppressed(*one)) for one in given}
    assert counted(suppressed, given) <= 4 + len(lengths)


def test_effects_of_each_turn_happen_once():
    def fn(x, log):
        for i in range(5):
            log.append(i)
            x = x * 2
            if x.sum() > 20:
                break
            log.append(-i)
        return x

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for start in (1.0, 0.1, 3.0, 30.0):
        plain, ours = [], []
        expected = fn(torch.full((2,), start), plain)
        torch.testing.assert_close(compiled(torch.full((2,), start), ours), expected)
        assert ours == plain


def asks_sizes(x, ask):
    """Goes on with fewer columns in each turn, down to one and none."""
    seen = []
    for _ in range(6):
        if (x > 100).any():
            break
        x = x[:, x[0] > x[0].min()] if x.shape[1] else x
        seen.append(ask(x))
    return x, seen


def told_of_memory(x):
    return x.is_contiguous(), x.T.is_contiguous(), x.t().contiguous().stride(), x.T.stride()


def stretched(x):
    return x + torch.ones(2, 1), x * x.sum(1, keepdim=True), x.expand(3, 2, -1) + x[None]


def reshaped(x):
    return x.T.reshape(-1), x.unsqueeze(0).expand(3, -1, -1).sum(0), x.numel(), x.flatten().shape


def split(x):
    return torch.cat([x, x], 1), x.T @ x, x.split(1, 1), x.unbind(1)


def compared(x):
    return x.shape[1] == 1, bool(x.shape[1]), x.shape[1] < 2, x.nelement() == 0, len(x.T)


@pytest.mark.parametrize("ask", [told_of_memory, stretched, reshaped, split, compared])
def test_programs_that_ask_for_a_size_that_comes_to_one_and_none(ask):
    torch.manual_seed(0)
    suture.reset()
    compiled = suture.compile(asks_sizes, backend="eager")
    for columns in (4, 2, 5, 3, 4):
        x = torch.rand(2, columns)
        torch.testing.assert_close(compiled(x.clone(), ask), asks_sizes(x, ask))
