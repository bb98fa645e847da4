"""Programs whose branches on data are steady, as people write them: one graph once they have been
so for some calls, right when one turns, and what they do beside is done once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from suture import config
from tests.harness import Graphs, Outcome, compare

AFTER = 3
STEADY = AFTER + 3


@pytest.fixture(autouse=True)
def soon():
    with config.patch(speculate_after=AFTER):
        yield


def graphs_of_calls(fn, given, backend=None):
    """Plain and compiled, call by call, compared; how many graphs ran in each call."""
    suture.reset()
    ran = [0]

    def counting(gm, inputs):
        def run(*args):
            ran[0] += 1
            return gm.forward(*args)

        return run

    compiled, counts = suture.compile(fn, backend=backend or counting), []
    for seed, args in enumerate(given):
        eager = Outcome(fn, tuple(a.clone() for a in args), {}, seed)
        before = ran[0]
        ours = Outcome(compiled, tuple(a.clone() for a in args), {}, seed)
        compare(eager, ours, grads=False)
        counts.append(ran[0] - before)
    return counts


class Experts(nn.Module):
    """Each expert takes the rows that chose it, if there are any."""

    def __init__(self, size=8, experts=3, chosen=2):
        super().__init__()
        torch.manual_seed(0)
        self.gate = nn.Linear(size, experts, bias=False)
        self.experts = nn.ModuleList([nn.Linear(size, size) for _ in range(experts)])
        self.chosen = chosen

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.chosen, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == i)
            if rows.numel() == 0:
                continue
            out = out.index_add(0, rows, expert(x[rows]) * weights[rows, place, None])
        return out


def some_rows(seed, count=12):
    torch.manual_seed(seed)
    return (torch.randn(count, 8),)


def test_experts_that_all_have_rows():
    model, lonely = Experts(), torch.ones(2, 8)
    counts = graphs_of_calls(model, [some_rows(i) for i in range(STEADY + 3)])
    assert counts[STEADY:] == [1, 1, 1]
    graphs_of_calls(model, [*[some_rows(i) for i in range(STEADY)], (lonely,), some_rows(9)])


def test_a_loss_that_is_a_number():
    skipped = []

    def fn(x):
        loss = (x * 2).square().mean()
        if loss.isnan():
            skipped.append(1)
            return torch.zeros(())
        return loss + 1

    x, bad = torch.randn(4), torch.tensor([1.0, torch.nan])
    counts = graphs_of_calls(fn, [(x,)] * (STEADY + 2))
    assert counts[-1] == 1 and not skipped
    graphs_of_calls(fn, [(x,)] * STEADY + [(bad,), (x,)])
    assert len(skipped) == 2  # once plainly, once compiled


def test_a_mask_that_is_full():
    def fn(x, mask):
        if mask.all():
            return x.softmax(-1)
        return x.masked_fill(~mask, -1e9).softmax(-1)

    x, full = torch.randn(3, 4), torch.ones(3, 4, dtype=torch.bool)
    some = full.clone()
    some[1, 2] = False
    counts = graphs_of_calls(fn, [(x, full)] * STEADY + [(x, some)] + [(x, full)] * 2)
    assert counts[-1] == 1


def test_decoding_until_all_are_done():
    def fn(x):
        done = torch.zeros(x.shape[0], dtype=torch.bool)
        steps = 0
        while not done.all():
            x = x * 0.5
            done = done | (x.abs().amax(-1) < 1)
            steps += 1
        return x, steps

    short, long = torch.full((2, 3), 6.0), torch.full((2, 3), 40.0)
    counts = graphs_of_calls(fn, [(short,)] * STEADY + [(long,), (short,), (short,)])
    assert counts[STEADY - 1] == 1 and counts[-1] == 1


class Dropping(nn.Module):
    """Leaves layers out at random, as LayerDrop does, by a number of torch's generator."""

    def __init__(self, rate):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.rate = rate

    def forward(self, x):
        for layer in self.layers:
            if self.training and torch.rand(()) < self.rate:
                continue
            x = layer(x).tanh()
        return x


def test_layers_that_are_never_left_out():
    counts = graphs_of_calls(Dropping(0.0), [(torch.randn(2, 4),)] * (STEADY + 2))
    assert counts[-1] == 1


def test_layers_that_are_left_out_now_and_then():
    graphs_of_calls(Dropping(0.5), [(torch.randn(2, 4),)] * 20)


def test_leaving_early():
    seen = []

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
            self.sure = nn.Linear(4, 1)

        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = layer(x).tanh() + x
                if self.sure(x).sigmoid().mean() > 0.9:
                    seen.append(i)
                    return x
            return x * 2

    model = Deep()
    near, far = torch.zeros(2, 4), torch.full((2, 4), 0.0)
    with torch.no_grad():
        far += 50 * model.sure.weight[0]
    counts = graphs_of_calls(model, [(near,)] * (STEADY + 2))
    assert counts[-1] == 1 and not seen
    counts = graphs_of_calls(model, [(near,)] * STEADY + [(far,), (near,)])
    assert counts[-1] == 1 and len(seen) == 2


def test_what_is_done_beside_is_done_once():
    log, count = [], {"calls": 0}
    buffer = torch.zeros(3)

    def fn(x):
        count["calls"] += 1
        buffer.add_(x.detach())
        if (x > 5).any():
            log.append("large")
            return x.clamp(max=5)
        log.append("fine")
        return x + buffer

    small, large = torch.ones(3), torch.full((3,), 9.0)
    given = [small] * STEADY + [large, small, large, small]
    compiled = suture.compile(fn, backend="eager")
    results = []
    for call in (fn, compiled):
        log.clear()
        buffer.zero_()
        count["calls"] = 0
        results.append(([call(x) for x in given], buffer.clone(), list(log), dict(count)))
    torch.testing.assert_close(results[0][:2], results[1][:2])
    assert results[0][2:] == results[1][2:]


def test_training_with_a_check_of_the_loss():
    def fn(x, w):
        loss = (x @ w).square().mean()
        if not torch.isfinite(loss):
            return loss
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
        w.grad = None
        return loss.detach()

    suture.reset()
    graphs, results = Graphs(), []
    for call in (fn, suture.compile(fn, backend=graphs)):
        torch.manual_seed(0)
        w = torch.randn(4, 2, requires_grad=True)
        given = [torch.randn(3, 4) for _ in range(STEADY + 4)]
        given[STEADY + 1] = torch.full((3, 4), torch.inf)
        made = [call(x, w).nan_to_num() for x in given]
        results.append((made, w, w.grad))
    torch.testing.assert_close(*results)
    assert not suture.stats().interpreted
