"""Routed experts with gradients: one graph, and an expert that was skipped has no gradient."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import suture
from tests.harness import Graphs

EXPERTS, WIDTH = 4, 6


class Routed(nn.Module):
    """A router and its experts; `chosen` says which expert gets a row, so that a test decides."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 5), nn.ReLU(), nn.Linear(5, WIDTH))
            for _ in range(EXPERTS)
        )

    def weights(self, x, chosen):
        return F.softmax(self.router(x), -1).gather(1, chosen)


class ByIndex(Routed):
    def forward(self, x, chosen):
        weights, out = self.weights(x, chosen), torch.zeros_like(x)
        for e in range(EXPERTS):
            row, place = torch.where(chosen == e)
            if row.numel() == 0:
                continue
            out.index_add_(0, row, self.experts[e](x[row]) * weights[row, place, None])
        return out


class ByMask(Routed):
    def forward(self, x, chosen):
        weights, out = self.weights(x, chosen), torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mask = chosen[:, 0] == e
            if mask.any():
                out[mask] = expert(x[mask]) * weights[mask]
        return out


class OverHit(Routed):
    def forward(self, x, chosen):
        weights, out = self.weights(x, chosen), torch.zeros_like(x)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        for e in (mask.sum(dim=(-1, -2)) > 0).nonzero():
            place, row = torch.where(mask[e].squeeze(0))
            out.index_add_(0, row, self.experts[e](x[row]) * weights[row, place, None])
        return out


class Anew(Routed):
    def forward(self, x, chosen):
        weights, out = self.weights(x, chosen), torch.zeros_like(x)
        for e in range(EXPERTS):
            row, place = torch.where(chosen == e)
            if row.numel() == 0:
                continue
            out = out.index_add(0, row, self.experts[e](x[row]) * weights[row, place, None])
        return out


class InTwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = ByIndex(), ByIndex()

    def forward(self, x, chosen):
        return self.second(x + self.first(x, chosen), chosen.flip(0) % 3)


class WeightsOfOneParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.stacked = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH))

    def forward(self, x, chosen):
        out = x * 2
        for e in range(EXPERTS):
            row = torch.where(chosen[:, 0] == e)[0]
            scale = self.stacked[e].t()
            if row.shape[0] > 0:
                out[row] += x[row] @ scale
        return out


def routes():
    some = [[0, 1, 2, 3, 0], [2, 2, 2, 0, 2], [1, 1, 1, 1, 1], [3, 0, 3, 0, 3], [2, 2, 2, 2, 2]]
    return [torch.tensor(one)[:, None] for one in some]


def rows(seed):
    return torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(seed))


def gradients(module):
    return {name: one.grad for name, one in module.named_parameters()}


def same(ours, eager):
    assert ours.keys() == eager.keys()
    for name, grad in eager.items():
        assert (ours[name] is None) is (grad is None), name
        if grad is not None:
            torch.testing.assert_close(ours[name], grad, msg=lambda text, n=name: f"{n}: {text}")


def trained(module, graphs, **options):
    """Steps of training, compared with eager after each; requires so many graphs (None: any)."""
    suture.reset()
    torch.manual_seed(0)
    model = module()
    twin, recorder = copy.deepcopy(model), Graphs()
    compiled = suture.compile(model, backend=recorder, dynamic=False, **options)
    # Both skip parameters whose gradient is None, and move those whose gradient is zero.
    ours = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=0.1)
    eager = torch.optim.SGD(twin.parameters(), 0.1, momentum=0.9, weight_decay=0.1)
    for seed, chosen in enumerate(routes()):
        for optimizer, called in ((ours, compiled), (eager, twin)):
            optimizer.zero_grad()
            called(rows(seed), chosen).square().mean().backward()
        same(gradients(model), gradients(twin))
        ours.step()
        eager.step()
        for one, other in zip(model.parameters(), twin.parameters()):
            torch.testing.assert_close(one, other)
            assert one.isfinite().all()
    if graphs is not None:
        assert len(recorder) == graphs


@pytest.mark.parametrize(
    "module", [ByIndex, ByMask, OverHit, Anew, InTwoLayers, WeightsOfOneParameter]
)
def test_training_is_one_graph_however_rows_are_routed(module):
    trained(module, 1)


class Split(Routed):
    """Rows in the order of their experts, as many for each as there are; none is skipped."""

    def forward(self, x, _):
        weights, chosen = F.softmax(self.router(x), -1).max(-1)
        order = chosen.argsort(stable=True)
        parts = x[order].split(torch.bincount(chosen, minlength=EXPERTS).tolist())
        out = torch.cat([expert(part) for expert, part in zip(self.experts, parts)])
        return torch.zeros_like(out).index_copy(0, order, out) * weights[:, None]


def test_a_split_by_counts_is_one_graph():
    trained(Split, 1)


def test_a_whole_graph_may_be_asked_for():
    trained(ByIndex, 1, fullgraph=True)


def test_nothing_has_a_history_where_no_expert_had_rows():
    model = ByIndex()
    compiled = suture.compile(model, backend="eager")
    nowhere = torch.full((5, 1), 9)
    for chosen in (*routes(), nowhere, routes()[0], nowhere):
        weights = model.weights
        model.weights = lambda x, chosen: weights(x, chosen % EXPERTS)
        ours, eager = compiled(rows(0), chosen), model(rows(0), chosen)
        assert ours.requires_grad is eager.requires_grad
        assert torch.equal(ours, eager)
        del model.weights


class SecondMayHaveNone(nn.Module):
    """What the second loop writes hangs on the first; its rows may be none."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, chosen):
        middle, out = torch.zeros_like(x), torch.zeros_like(x)
        for e in range(2):
            row = torch.where(chosen[:, 0] == e)[0]
            if row.numel() > 0:
                middle.index_add_(0, row, self.first(x[row]))
        for e in range(2, 4):
            row = torch.where(chosen[:, 0] == e)[0]
            if row.numel() > 0:
                out.index_add_(0, row, self.second(middle[row]))
        return out + x.detach().requires_grad_()


class UsedOutsideToo(ByIndex):
    def forward(self, x, chosen):
        return super().forward(x, chosen) + self.experts[1](x) * self.experts[3][0].weight.sum()


class ASteepScale(nn.Module):
    """The derivative of a square root at 0, times no rows, is no number."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))
        self.last = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, chosen):
        out = x * self.scale
        for e in range(EXPERTS):
            row = torch.where(chosen[:, 0] % 3 == e)[0]
            if row.numel() > 0:
                out.index_add_(0, row, self.last(x[row]) * (self.scale + 3 - e).sqrt())
        return out


class AskedInBetween(Routed):
    def forward(self, x, chosen):
        out, seen = torch.zeros_like(x), []
        for e in range(EXPERTS):
            row = torch.where(chosen[:, 0] == e)[0]
            seen.append(out.requires_grad)
            if row.numel() > 0:
                out.index_add_(0, row, self.experts[e](x[row]))
        return out * (1 + sum(seen))


class ReadInBetween(Routed):
    def forward(self, x, chosen):
        out, total = torch.zeros_like(x), x * 0
        for e in range(EXPERTS):
            row = torch.where(chosen[:, 0] == e)[0]
            total = total + out
            if row.numel() > 0:
                out.index_add_(0, row, self.experts[e](x[row]))
        return total + self.router(x).sum()


class ScaledBefore(Routed):
    """Each expert's weights are taken before it is known whether it has rows."""

    def forward(self, x, chosen):
        every, out = F.softmax(self.router(x), -1), torch.zeros_like(x)
        for e in range(EXPERTS):
            row = torch.where(chosen[:, 0] == e)[0]
            scale = every[:, e]
            if row.numel() > 0:
                out.index_add_(0, row, self.experts[e](x[row]) * scale[row, None])
        return out


@pytest.mark.parametrize(
    "module",
    [SecondMayHaveNone, UsedOutsideToo, ASteepScale, AskedInBetween, ReadInBetween, ScaledBefore],
)
def test_what_else_autograd_comes_to_is_as_in_eager(module):
    trained(module, 1 if module is ScaledBefore else None)


def test_a_derivative_of_a_skipped_expert_says_that_it_was_not_used():
    model = ByIndex()
    compiled = suture.compile(model, backend="eager")
    weights = [expert[0].weight for expert in model.experts]
    for chosen in routes():
        for called in (compiled, model):
            loss = called(rows(0), chosen).sum()
            found = torch.autograd.grad(loss, weights, allow_unused=True, retain_graph=True)
            used = [e in chosen for e in range(EXPERTS)]
            assert [one is not None for one in found] == used
            if not all(used):
                with pytest.raises(RuntimeError, match="appears to not have been used"):
                    torch.autograd.grad(loss, weights)


def test_second_derivatives_go_through():
    model = ByIndex()
    compiled = suture.compile(model, backend="eager")
    for chosen in routes():
        results = []
        for called in (compiled, model):
            x = rows(1).requires_grad_()
            (first,) = torch.autograd.grad(called(x, chosen).sum(), x, create_graph=True)
            model.zero_grad()
            first.square().sum().backward()
            results.append(gradients(model))
        same(*results)


@pytest.mark.parametrize("set_hook", ["register_hook", "register_post_accumulate_grad_hook"])
@pytest.mark.parametrize("late", [False, True])
def test_a_hook_of_a_skipped_expert_is_not_called(set_hook, late):
    model, seen = ByIndex(), []
    compiled = suture.compile(model, backend="eager")

    def set_hooks():
        for e, expert in enumerate(model.experts):
            getattr(expert[0].weight, set_hook)(lambda one, e=e: seen.append(e))

    if not late:
        set_hooks()
    compiled(rows(0), routes()[0])
    if late:
        set_hooks()
    for chosen in routes():
        counts = []
        for called in (compiled, model):
            seen.clear()
            called(rows(0), chosen).sum().backward()
            counts.append(sorted(seen))
        assert counts[0] == counts[1] == sorted(set(chosen.flatten().tolist()))


def test_a_step_that_is_compiled_with_its_backward():
    model = ByIndex()
    twin, recorder = copy.deepcopy(model), Graphs()

    def step(module, x, chosen):
        loss = module(x, chosen).square().sum()
        loss.backward()
        return loss.detach()

    compiled = suture.compile(step, backend=recorder, dynamic=False)
    for seed, chosen in enumerate(routes()):
        model.zero_grad()
        twin.zero_grad()
        ours, eager = compiled(model, rows(seed), chosen), step(twin, rows(seed), chosen)
        torch.testing.assert_close(ours, eager)
        same(gradients(model), gradients(twin))
    assert len(recorder) <= 2


def test_inductor_leaves_a_skipped_expert_without_a_gradient():
    suture.reset()
    torch.manual_seed(0)
    model = ByIndex()
    twin = copy.deepcopy(model)
    compiled = suture.compile(model, dynamic=False)
    for seed, chosen in enumerate(routes()):
        for called, one in ((compiled, model), (twin, twin)):
            one.zero_grad()
            called(rows(seed), chosen).square().sum().backward()
        same(gradients(model), gradients(twin))
    assert suture.stats().graphs == 1


def test_a_module_that_is_an_argument():
    def fn(module, x, chosen):
        return module(x, chosen)

    compiled = suture.compile(fn, backend="eager")
    for seed in range(3):
        model = ByIndex()
        twin = copy.deepcopy(model)
        for chosen in routes():
            for called, one in ((compiled, model), (fn, twin)):
                one.zero_grad()
                called(one, rows(seed), chosen).sum().backward()
            same(gradients(model), gradients(twin))
