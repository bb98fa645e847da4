"""Graphs that switch modes, or run under autocast, from an earlier process."""

from __future__ import annotations

import contextlib

import pytest
import torch

import suture

X = torch.arange(8.0).reshape(2, 4) / 7

NET = """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
"""
PROGRAMS = {
    "autocast inside": (
        NET + "def fn(x):\n    with torch.autocast('cpu', torch.bfloat16):\n        y = net(x)\n"
        "    return y.float() + x\n"
    ),
    "a part without derivatives": (
        NET + "def fn(x):\n    with torch.no_grad():\n        y = net(x)\n    return net(x) * y\n"
    ),
}  # fmt: skip
STEP = (
    NET + "optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)\n"
    "def fn(x):\n    optimizer.zero_grad()\n    loss = net(x).square().sum()\n"
    "    loss.backward()\n    optimizer.step()\n    return loss.detach()\n"
)


def steps(cache, text, backend, around=contextlib.nullcontext, count=3):
    """Some calls with derivatives, compiled and not: they agree. How many were used, kept."""
    suture.reset()
    other = cache.load(text)  # the program once more, to run uncompiled
    module = cache.load(text)
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
        compiled = suture.compile(module.fn, backend=backend)
        for n in range(count):
            both = []
            for net, run in ((module.net, compiled), (other.net, other.fn)):
                with around():
                    out = run(X + n)
                if out.requires_grad:
                    net.zero_grad()
                    out.float().square().sum().backward()
                both.append([out.detach(), *(one.grad.clone() for one in net.parameters())])
            torch.testing.assert_close(*both, rtol=1e-2, atol=1e-2)
    return cache.used(), sum("kept as" in line for line in cache.lines)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_modes_that_a_graph_switches(cache, name, backend):
    _, kept = steps(cache, PROGRAMS[name], backend)
    assert kept > 0, cache.lines
    assert steps(cache, PROGRAMS[name], backend) == (kept, 0), cache.lines


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_autocast_around_the_call(cache, backend):
    def around():
        return torch.autocast("cpu", torch.bfloat16)

    program = NET + "def fn(x):\n    return net(x) * 2\n"
    _, kept = steps(cache, program, backend, around)
    assert kept > 0, cache.lines
    assert steps(cache, program, backend, around) == (kept, 0), cache.lines
    used, more = steps(cache, program, backend)  # without it is another variant
    assert (used, more) == (0, kept), cache.lines


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_whole_step_of_training(cache, backend):
    _, kept = steps(cache, STEP, backend)
    assert kept > 0, cache.lines
    used, more = steps(cache, STEP, backend)
    assert (used, more) == (kept, 0), cache.lines
