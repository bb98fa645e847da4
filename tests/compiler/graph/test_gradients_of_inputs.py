"""Tensors whose gradient is there before the call: what of it torch would take for a symbol."""

from __future__ import annotations

import copy

import torch

import suture
from suture import events
from tests.harness import Graphs, check


def with_gradient(grad, view=False):
    base = torch.ones(2, 4)
    x = (base[0] if view else torch.ones(4)).detach().requires_grad_()
    x.grad = grad
    return (x,)


def test_one_of_the_two_is_a_view():
    for dynamic in (None, True):
        for view, grad in ((False, torch.ones(2, 4)[0]), (True, torch.ones(4))):
            check(lambda x: x * 2, make=lambda: with_gradient(grad, view), dynamic=dynamic)


def test_a_gradient_that_is_a_view_is_read_and_dropped():
    def read(x):
        return x.grad * 2

    def drop(x):
        x.grad = None
        return x * 2

    for fn in (read, drop):
        check(fn, make=lambda: with_gradient(torch.arange(8.0).view(2, 4)[1]))


NET = torch.nn.Linear(3, 3)
OPTIMIZER = torch.optim.AdamW(NET.parameters(), lr=0.1)


def step(x):
    for parameter in NET.parameters():
        parameter.grad = None
    loss = NET(x).sum()
    loss.backward()
    OPTIMIZER.step()
    return loss.detach()


def test_a_training_step_is_compiled_again_for_its_state_only():
    """The state of an optimizer hangs below its parameters, whose numbers change at each step."""
    start = copy.deepcopy((NET.state_dict(), OPTIMIZER.state_dict()))
    x = torch.ones(2, 3)
    eager = [step(x) for _ in range(6)]
    NET.load_state_dict(start[0])
    OPTIMIZER.load_state_dict(start[1])
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(step, backend=graphs)
    with events.recorded(events.Recompiled) as seen:
        results = [compiled(x) for _ in range(6)]
    # torch's optimizers count in float32 while they are compiled, and in Python otherwise.
    torch.testing.assert_close(results, eager, rtol=1e-4, atol=1e-4)
    assert len(graphs) == 2 and not suture.stats().interpreted
    state = f"{__name__}.OPTIMIZER.state"
    (event,) = seen
    assert event.reasons[0] == f"list({state}) == []: keys were [], are 2 objects"
