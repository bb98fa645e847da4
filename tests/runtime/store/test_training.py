"""Training from the cache: forward and backward graphs of an earlier process."""

from __future__ import annotations

import copy

import pytest
import torch

import suture
from tests.runtime.store.test_programs import finished, start

X = torch.arange(6.0).reshape(2, 3) / 7

NET = """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Linear(5, 2))
"""
PROGRAMS = {
    "a network": NET + "def fn(x):\n    return net(x)\n",
    "several results, one without a derivative": (
        NET + "def fn(x):\n    y = net(x)\n"
        "    return y.sin(), (y > 0).sum(), x * 2, y.exp().sum(0)\n"
    ),
    "a transposed result": NET + "def fn(x):\n    return (net(x) * 2).t().clone()\n",
    "a break": (
        NET + "def fn(x):\n    y = net(x).sin()\n    if y.sum() > 1e9:\n        y = y + 1\n"
        "    return (y.exp() * x.sum()).cos()\n"
    ),
    "a module as an argument": (
        NET + "def run(layer, x):\n    if x.sum() > 1e9:\n        return x\n"
        "    return layer(x).sin()\n"
        "def fn(x):\n    return run(net[2], run(net[1], run(net[0], x)))\n"
    ),
    "an input whose derivative is not asked for": (
        NET + "def fn(x):\n    return net(x.detach()) * x.detach().sum() + x.sum()\n"
    ),
}  # fmt: skip


def step(module, fn, x, weights=(1.0, 0.5)):
    """Results and derivatives of one step."""
    x = x.clone().requires_grad_()
    outs = fn(x)
    outs = outs if isinstance(outs, (tuple, list)) else [outs]
    grown = [o for o in outs if o.requires_grad]
    loss = sum((o * w).sum() for o, w in zip(grown, (*weights, 2.0)))
    for one in module.net.parameters():
        one.grad = None
    loss.backward()
    found = [None if p.grad is None else p.grad.clone() for p in module.net.parameters()]
    return [o.detach() for o in outs], x.grad, found, [o.requires_grad for o in outs]


def trained(cache, text, backend, xs=(X,), **options):
    """One step for each input, compiled and not: they agree. How many variants were used, kept."""
    suture.reset()
    module = cache.load(text)
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
        compiled = suture.compile(module.fn, backend=backend, **options)
        for x in xs:
            torch.testing.assert_close(step(module, compiled, x), step(module, module.fn, x))
    return cache.used(), sum("kept as" in line for line in cache.lines)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_and_backward_graphs_are_kept(cache, name, backend):
    _, kept = trained(cache, PROGRAMS[name], backend)
    assert kept > 0, cache.lines
    used, more = trained(cache, PROGRAMS[name], backend)
    assert (used > 0, more) == (True, 0), cache.lines


VIEWS = (
    NET + "def fn(x):\n    y = net(x)\n    a, b = (y * 2).chunk(2, 1)\n"
    "    return y.t(), b, x[0], y[:, 0]\n"
)  # fmt: skip


def test_results_that_are_views(cache):
    _, kept = trained(cache, VIEWS, "inductor")
    assert kept > 0, cache.lines
    assert trained(cache, VIEWS, "inductor") == (kept, 0), cache.lines


STATISTICS = """
torch.manual_seed(0)
class Total(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(5))
    def forward(self, x):
        self.total.add_(x.detach().mean(0))
        return x
net = nn.Sequential(nn.Linear(3, 5), Total(), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2))
def fn(x):
    return net(x)
"""


def statistics(cache, backend):
    """Three steps of a network that writes running statistics; they are as in eager, and autograd
    notices that they were written. How many variants were used, kept."""
    suture.reset()
    module = cache.load(STATISTICS)
    eager = copy.deepcopy(module.net)
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
        compiled = suture.compile(module.fn, backend=backend)
        for n in (1, 2, 3):
            both = []
            for net, run in ((module.net, compiled), (eager, eager)):
                saved = (net[1].total * torch.ones(5, requires_grad=True)).sum()
                net.zero_grad()
                run(X * n).square().sum().backward()
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    saved.backward()
                grads = [one.grad for one in net.parameters()]
                both.append([*grads, *(one.clone() for one in net.buffers())])
            torch.testing.assert_close(*both)
    return cache.used(), sum("kept as" in line for line in cache.lines)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_running_statistics(cache, backend):
    assert statistics(cache, backend) == (0, 1), cache.lines
    assert statistics(cache, backend) == (1, 0), cache.lines


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_constants_of_graphs_are_kept(cache, backend):
    program = (
        "def fn(x):\n    many = torch.tensor([float(i) for i in range(30)])\n"
        "    return (many[:3] + x).sin(), many * x.sum(), x[:, [0, 2]]\n"
    )
    with torch.no_grad():
        assert cache.run(program, (X,), backend=backend) == (0, 1), cache.lines
        assert cache.run(program, (X + 1,), backend=backend) == (1, 0), cache.lines


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_symbolic_sizes(cache, backend):
    program = NET + "def fn(x):\n    return net(x).sum(0) * x.shape[0]\n"
    trained(cache, program, backend, [torch.ones(n, 3) for n in (2, 4, 5)])
    used = trained(cache, program, backend, [torch.ones(9, 3)])
    assert used == (1, 0), cache.lines


def test_a_graph_that_is_kept_for_a_second_backward(cache):
    program = NET + "def fn(x):\n    return net(x).sin()\n"

    def run():
        suture.reset()
        module = cache.load(program)
        with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            out = suture.compile(module.fn, backend="inductor")(X).sum()
        out.backward(retain_graph=True)
        out.backward()
        twice = module.net[0].weight.grad.clone()
        module.net.zero_grad()
        module.fn(X).sum().backward()
        torch.testing.assert_close(twice, 2 * module.net[0].weight.grad)
        with pytest.raises(RuntimeError, match="second time"):
            out.backward()
        return cache.used()

    assert (run(), run()) == (0, 1)


def test_a_tensor_that_was_saved_and_changed_is_an_error(cache):
    program = NET + "def fn(x):\n    return (x * x).sin() * net[0].weight.sum()\n"

    def run():
        suture.reset()
        module = cache.load(program)
        x = X.clone()
        with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            out = suture.compile(module.fn, backend="aot_eager")(x)
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
        return cache.used()

    assert (run(), run()) == (0, 1)


def test_second_derivatives_are_an_error(cache):
    # so many operations that they are not run one by one, however long the backend's code takes
    program = NET + "def fn(x):\n    y = net(x)\n"
    program += (
        "    y = y.sin().cos() * y.exp() + y.sin().exp() * y.cos().sin()\n    return y.sin()\n"
    )

    def run():
        suture.reset()
        module = cache.load(program)
        x = X.clone().requires_grad_()
        with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            out = suture.compile(module.fn, backend="inductor")(x).sum()
        (first,) = torch.autograd.grad(out, x, create_graph=True)
        (plain,) = torch.autograd.grad(module.fn(x).sum(), x)
        torch.testing.assert_close(first, plain)
        with pytest.raises(RuntimeError, match="deriv|double backward"):
            first.sum().backward()
        return cache.used()

    assert (run(), run()) == (0, 1)


def test_evaluation_is_another_variant(cache):
    program = NET + "def fn(x):\n    return net(x).sin()\n"
    trained(cache, program, "inductor")
    with torch.no_grad():
        assert cache.run(program, (X,), backend="inductor") == (0, 1), cache.lines
        assert cache.run(program, (X,), backend="inductor") == (1, 0), cache.lines
    assert trained(cache, program, "inductor") == (1, 0), cache.lines


MAIN = """
import sys, torch, suture
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
other = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
other.load_state_dict(net.state_dict())
x = torch.randn(3, 8)
def train(run, net):
    for _ in range(3):
        loss = run(x).square().mean()
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads):
                p -= 0.1 * g
    return loss
mine = train(suture.compile(net, backend=BACKEND), net)
assert (mine - train(other, other)).abs() < 1e-6  # assert_close would import sympy
heavy = ("suture.compiler", "sympy", "torch._dynamo", "torch._inductor")
print(sum(m == h or m.startswith(h + ".") for m in sys.modules for h in heavy))
"""


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_warm_process_trains_without_the_compiler(tmp_path, backend):
    script = tmp_path / "program.py"
    script.write_text(MAIN.replace("BACKEND", repr(backend)))
    assert finished(start(tmp_path / "cache", script)) > 0
    assert finished(start(tmp_path / "cache", script)) == 0
