"""The first step of an optimizer makes its state: it runs once, as it was captured. The tensors of
an optimizer are held by the variants of later steps, wherever the optimizer comes from."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import suture
from tests.harness import Graphs


class Signs(torch.optim.Optimizer):
    """An optimizer that makes its state anew in each step, instead of writing to it."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1, "beta": 0.9})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                mean = state.get("mean", torch.zeros_like(p))
                state["mean"] = mean * group["beta"] + p.grad * (1 - group["beta"])
                p.add_(state["mean"].sign(), alpha=-group["lr"])


@pytest.fixture(autouse=True)
def _nothing_compiled():
    suture.reset()


MAKERS = {
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Signs": Signs,
}


def trained(make):
    """A step of training over a closure, its model and its optimizer, the same at each call."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = make(model.parameters())

    def step(x):
        loss = model(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, model, optimizer


def test_the_first_step_is_not_compiled_and_the_second_is():
    plain, ours = trained(MAKERS["Adam"]), trained(MAKERS["Adam"])
    compiled = suture.compile(ours[0])
    x = torch.randn(5, 4)
    assert torch.equal(compiled(x), plain[0](x))
    stats = suture.stats()
    assert (stats.graphs, stats.plain) == (1, 1)
    for _ in range(4):
        torch.testing.assert_close(compiled(x), plain[0](x))
    torch.testing.assert_close(ours[1].weight, plain[1].weight)
    stats = suture.stats()
    assert (stats.graphs, stats.plain, stats.variants) == (2, 1, 2)


def test_state_that_is_emptied_again_takes_the_first_variant():
    plain, ours = trained(MAKERS["Adam"]), trained(MAKERS["Adam"])
    compiled = suture.compile(ours[0], backend="aot_eager")
    x = torch.randn(5, 4)
    for i in range(8):
        if i in (3, 6):
            for _, model, optimizer in (plain, ours):
                optimizer.state.clear()
                model.zero_grad()
        torch.testing.assert_close(compiled(x), plain[0](x))
    torch.testing.assert_close(ours[1].weight, plain[1].weight)
    assert suture.stats().variants == 3  # a second one for later steps, which holds no state


def test_a_backend_of_the_program_sees_the_first_step():
    step, _, _ = trained(MAKERS["Adam"])
    graphs = Graphs()
    compiled = suture.compile(step, backend=graphs)
    compiled(torch.randn(5, 4))
    assert len(graphs) == 1
    assert suture.stats().plain == 0


@pytest.mark.parametrize("name", MAKERS)
def test_an_optimizer_of_a_closure_is_compiled_as_often_as_a_global_one(name):
    plain, ours = trained(MAKERS[name]), trained(MAKERS[name])
    compiled = suture.compile(ours[0], backend="eager")
    x = torch.randn(5, 4)
    for i in range(6):
        assert torch.equal(compiled(x), plain[0](x))
        if i == 3:  # other tensors in the place of its state
            for _, _, optimizer in (plain, ours):
                optimizer.load_state_dict(optimizer.state_dict())
    assert suture.stats().variants == 2


def test_state_is_held_and_not_read_at_each_call():
    step, _, optimizer = trained(MAKERS["Adam"])
    compiled = suture.compile(step, backend="eager")
    for _ in range(3):
        compiled(torch.randn(5, 4))
    later = suture.code(compiled).split("variant 1")[1]
    assert "exp_avg" not in later
    assert "tensors of modules" in later
    assert optimizer.state


@pytest.mark.parametrize("name", MAKERS)
def test_two_optimizers_take_turns(name):
    def fn(optimizer):
        optimizer.step()

    compiled = suture.compile(fn, backend="eager")
    pairs = [(trained(MAKERS[name]), trained(MAKERS[name])) for _ in range(2)]
    for i in range(6):
        (_, model, optimizer), (_, like, other) = pairs[i % 2]
        for one in (model, like):
            one.zero_grad()
            one(torch.full((2, 4), i + 1.0)).sum().backward()
        compiled(optimizer)
        other.step()
        assert torch.equal(model.weight, like.weight)
    assert suture.stats().variants <= 4


def test_an_optimizer_that_the_program_drops_goes():
    def fn(optimizer):
        optimizer.step()

    compiled = suture.compile(fn, backend="eager")
    _, model, optimizer = trained(MAKERS["Adam"])
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
        compiled(optimizer)
    refs = weakref.ref(optimizer), weakref.ref(model.weight)
    del model, optimizer, _
    gc.collect()  # a step leaves cycles
    assert [ref() for ref in refs] == [None, None]
