"""`for i in mask.nonzero()`, as loops over experts are written: unrolled where the rows were the
same in the calls so far, and right when they are not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from suture import config
from tests.harness import Outcome, _clone, compare

AFTER = 3


@pytest.fixture(autouse=True)
def soon():
    with config.patch(speculate_after=AFTER):
        yield


def runs(fn, *given, backend=None):
    """Eager and compiled, call by call: how many graphs ran in each call."""
    suture.reset()
    count = 0

    def counting(gm, inputs):
        def run(*args):
            nonlocal count
            count += 1
            return gm.forward(*args)

        return run

    compiled = suture.compile(fn, backend=backend or counting)
    found = []
    for seed, one in enumerate(given):
        count = 0
        eager = Outcome(fn, _clone((one,), {}), {}, seed)
        compare(eager, Outcome(compiled, _clone((one,), {}), {}, seed))
        found.append(count)
    return found


def summed(mask):
    """A loop that reads which row it is at, as a number and as a text."""
    weights, names = [1.0, 10.0, 100.0, 1000.0], {str(i): float(i) for i in range(4)}
    total = mask.float() * 2
    for i in (mask > 0).nonzero():
        total = total + weights[i[0]] + names[f"{i[0]}"] + mask[i]
    return total * 2


ALL, SOME = torch.tensor([1, 2, 3, 4]), torch.tensor([0, 2, 0, 4])
OTHER, NONE = torch.tensor([1, 2, 0, 4]), torch.zeros(4, dtype=torch.int64)


@pytest.mark.parametrize("mask", [ALL, SOME, NONE])
def test_steady_rows_make_one_graph(mask):
    found = runs(summed, *[mask] * 8)
    assert found[0] > 1 and found[-3:] == [1, 1, 1]


@pytest.mark.parametrize("turn", [1, AFTER, 6])
def test_rows_that_are_others_once_are_right_and_stay_expected(turn):
    given = [SOME] * 14
    given[turn] = OTHER
    found = runs(summed, *given)
    assert found[-1] == 1


def test_rows_that_are_never_steady_are_a_break():
    found = runs(summed, *[ALL, SOME, OTHER, NONE] * 4)
    assert min(found[:3]) > 1 and max(found[-4:]) > 1


def test_two_loops_with_rows_of_their_own():
    def fn(mask):
        total = mask * 2.0
        for chosen in (mask, 5 - mask, mask - 2):
            for i in (chosen > 0).nonzero():
                total = total + chosen[i]
        return total

    assert runs(fn, *[SOME] * 8)[-1] == 1
    assert runs(fn, *[SOME] * 8, ALL, SOME)[-1] == 1


def test_a_mask_that_is_written_before_the_loop():
    def fn(mask):
        chosen, total = mask.clone(), mask * 2.0
        rows = chosen.nonzero()
        chosen.zero_()
        for i in rows:
            total = total + mask[i]
        return total, chosen

    runs(fn, *[SOME] * 6, ALL, SOME)


def test_the_rows_are_views_of_the_tensor():
    def fn(mask):
        rows, total = (mask > 0).nonzero(), mask * 2.0
        for i in rows:
            i.add_(1)
            total = total + rows.sum()
        return total, rows

    runs(fn, *[SOME] * 6, ALL, SOME)


def test_others_know_how_many_rows_there_are():
    def fn(mask):
        rows = mask.nonzero()
        count = rows.shape[0]
        total = mask * 2.0
        for i in rows:
            total = total + mask[i] * count
        return total

    runs(fn, *[SOME] * 6, ALL, SOME)


class Experts(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.router = nn.Linear(8, count)
        self.experts = nn.ModuleDict({f"expert_{i}": nn.Linear(8, 8) for i in range(count)})

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        mask = nn.functional.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        made = torch.zeros_like(x)
        for i in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            at, top = torch.where(mask[i].squeeze(0))
            part = self.experts[f"expert_{i[0]}"](x[None, top].reshape(-1, x.shape[-1]))
            made.index_add_(0, top, part * weights[top, at, None])
        return made


def test_layers_of_experts_are_one_graph():
    torch.manual_seed(0)
    first, second = Experts(4), Experts(3)
    x = torch.randn(32, 8)

    def fn(x):
        x = x + first(x)
        return x + second(x)

    with torch.no_grad():
        found = runs(fn, *[x] * 7, torch.ones(32, 8), x)
    assert found[0] == 1 and found[6] == 1


@pytest.mark.parametrize("trains", [False, True])
def test_layers_of_experts_through_a_compiler(trains):
    torch.manual_seed(0)
    layer = Experts(2)
    given = [torch.randn(8, 8, requires_grad=trains) for _ in range(5)]
    with torch.set_grad_enabled(trains):
        runs(layer.forward, *given, backend="aot_eager")
