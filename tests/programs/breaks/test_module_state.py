"""Branches on what modules keep: expected to go as they go now, and right when they turn."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs


class Ranged(torch.nn.Module):
    """Keeps a moving range of what it sees, as observers of quantisation do."""

    def __init__(self):
        super().__init__()
        self.low = torch.nn.Buffer(torch.zeros(1))
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        low = x.detach().min()
        if self.low.min() > -1e-5 and self.low.max() < 1e-5:
            self.low = self.low + low
        else:
            self.low = self.low * 0.9 + low * 0.1
        return x * self.weight - self.low


class Initialised(torch.nn.Module):
    """Takes its scale from the first batch, in place; `many` numbers say whether it has."""

    def __init__(self, many=2):
        super().__init__()
        self.register_buffer("done", torch.zeros(many))
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        if not self.done.bool().any():
            with torch.no_grad():
                self.scale.copy_(x.std(0))
                self.done.fill_(1)
        return x / self.scale


def equal_calls(make, count, backend="eager", xs=None):
    """Calls of a module and of its compiled twin; gives the graphs after each call."""
    suture.reset()
    torch.manual_seed(0)
    eager, other = make(), make()
    other.load_state_dict(eager.state_dict())
    graphs = Graphs()
    compiled = suture.compile(other, backend=graphs if backend == "eager" else backend)
    seen = []
    for x in xs or [torch.randn(4, 3) - i for i in range(count)]:
        results = []
        for module, call in ((eager, eager), (other, compiled)):
            module.zero_grad()
            out = call(x)
            out.square().sum().backward()
            results.append([out.detach(), *(p.grad for p in module.parameters())])
        torch.testing.assert_close(*results)
        torch.testing.assert_close(other.state_dict(), eager.state_dict())
        seen.append(len(graphs))
    return seen


def test_a_branch_on_a_buffer_that_is_set_anew_is_part_of_the_graph():
    assert equal_calls(Ranged, 6) == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("many", [1, 2])
def test_a_branch_on_a_buffer_that_turns_once_is_part_of_the_graph(many):
    assert equal_calls(lambda: Initialised(many), 5)[-1] == 2


def test_such_branches_are_right_under_aot():
    equal_calls(Ranged, 5, "aot_eager")
    equal_calls(Initialised, 5, "aot_eager")


class Alternating(torch.nn.Module):
    """Does something else in every other call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("turn", torch.zeros(2))
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        even = (self.turn % 2 == 0).all()
        self.turn = self.turn + 1
        if even:
            x = x * 2
        return x * self.weight


def test_a_branch_that_turns_again_and_again_is_a_break():
    assert equal_calls(Alternating, 10)[-1] <= 8
    assert [record.number for record in suture.stats().breaks] == ["GB0170"]


def test_a_branch_on_random_numbers_beside_what_is_kept_is_a_break():
    class Noisy(Initialised):
        def forward(self, x):
            if (self.done + torch.rand_like(self.done)).sum() > 0.5:
                x = x * 2
            return x * self.scale

    compiled, x = suture.compile(Noisy(), backend="eager"), torch.ones(2, 3)
    torch.manual_seed(0)
    ours = [compiled(x) for _ in range(4)]
    torch.manual_seed(0)
    plain = Noisy()
    torch.testing.assert_close(ours, [plain(x) for _ in range(4)])


def test_a_full_graph_has_no_such_branch():
    module = suture.compile(Initialised(), backend="eager", fullgraph=True)
    with pytest.raises(suture.errors.SutureError, match="GB0170"):
        module(torch.ones(2, 3))


def test_the_average_of_a_model_is_kept_in_one_graph():
    def make():
        model = torch.nn.Linear(3, 3)
        average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        return torch.nn.ModuleList(
            [
                model,
                torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=average),
            ]
        )

    def update(models, x):
        models[1].update_parameters(models[0])
        return models[1](x)

    torch.manual_seed(0)
    eager, other = make(), make()
    other.load_state_dict(eager.state_dict())
    graphs = Graphs()
    compiled = suture.compile(update, backend=graphs)
    for i in range(4):
        x = torch.randn(2, 3)
        for models in (eager, other):
            torch.nn.init.constant_(models[0].weight, i)
        torch.testing.assert_close(compiled(other, x), update(eager, x))
    assert len(graphs) == 2
    torch.testing.assert_close(other.state_dict(), eager.state_dict())
