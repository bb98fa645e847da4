"""Parameters and modules that the compiled function makes itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.autograd.profiler import profile, record_function

import suture
from tests.harness import check


def test_a_parameter_of_new_numbers():
    def fn(x):
        p = nn.Parameter(torch.randn(4))
        return p * x, p.requires_grad, p.is_leaf, p.grad, type(p) is nn.Parameter

    check(fn, torch.randn(4))


def test_a_parameter_without_gradient():
    def fn(x):
        p = nn.Parameter(torch.ones(4), requires_grad=False)
        return p * x, isinstance(p, nn.Parameter)

    check(fn, torch.randn(4))


def test_a_parameter_of_a_computed_tensor_is_cut_from_its_history():
    def fn(x):
        p = nn.Parameter(x * 2)
        return (p * x).sum()

    check(fn, torch.randn(4, requires_grad=True))


def test_a_parameter_of_an_input_shares_its_memory():
    def fn(x):
        p = nn.Parameter(x)
        with torch.no_grad():
            p.add_(1)
        return p * 2

    check(fn, torch.randn(4), graphs=None, breaks=["GB0177"])


def test_what_a_parameter_was_made_of_shows_what_is_written_to_it():
    def fn(x):
        data = torch.zeros(4)
        p = nn.Parameter(data)
        nn.init.ones_(p)
        data.mul_(3)
        return p + x, data

    check(fn, torch.randn(4))


def test_a_parameter_of_a_part_of_a_tensor_is_made_by_python():
    def fn(x):
        data = torch.zeros(2, 4)
        p = nn.Parameter(data[0])
        nn.init.ones_(p)
        return p + x, data

    check(fn, torch.randn(4), graphs=None, breaks=["GB0177"])


def test_a_parameter_of_a_tensor_with_history_that_is_written_to_is_made_by_python():
    def fn(x):
        data = x * 2
        p = nn.Parameter(data)
        nn.init.ones_(p)
        return p + x, data

    check(fn, torch.randn(4, requires_grad=True), graphs=None, breaks=["GB0177"])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_parameter_that_is_returned_gets_the_gradients(backend):
    def fn(x):
        p = nn.Parameter(torch.full((4,), 2.0))
        return p, (p * x).sum()

    x = torch.arange(4.0)
    p, loss = suture.compile(fn, backend=backend)(x)
    loss.backward()
    assert p.is_leaf and type(p) is nn.Parameter
    torch.testing.assert_close(p.grad, x)
    torch.testing.assert_close(p.detach(), torch.full((4,), 2.0))


def test_each_call_makes_another_parameter():
    compiled = suture.compile(lambda x: nn.Parameter(x + 1), backend="eager")
    first, second = compiled(torch.zeros(2)), compiled(torch.ones(2))
    assert first is not second
    assert first.tolist() == [1, 1] and second.tolist() == [2, 2]


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))
        self.scale = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return self.inner(x) * self.scale + self.shift


MODULES = {
    "linear": lambda: nn.Linear(4, 4),
    "norm": lambda: nn.LayerNorm(4),
    "batch norm": lambda: nn.BatchNorm1d(4),
    "sequential": lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)),
    "own": Small,
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_made_inside_is_part_of_the_graph(name):
    make = MODULES[name]
    check(lambda x: make()(x), torch.randn(3, 4))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_module_made_inside_can_be_trained_outside(backend):
    def fn(x):
        made = nn.Linear(4, 2)
        return made, made(x).sum()

    def run(call):
        torch.manual_seed(0)
        made, loss = call(torch.ones(3, 4))
        loss.backward()
        return [p.detach() for p in made.parameters()], [p.grad for p in made.parameters()]

    for a, b in zip(run(fn), run(suture.compile(fn, backend=backend))):
        torch.testing.assert_close(a, b)


def test_a_list_of_parameters():
    def fn(x):
        parts = nn.ParameterList([nn.Parameter(torch.ones(4) * i) for i in range(3)])
        return sum(p * x for p in parts)

    check(fn, torch.randn(4))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_tensor_made_inside_can_become_a_leaf(backend):
    def fn(x):
        start = torch.zeros(4).requires_grad_()
        return start, ((x + start) ** 2).sum(), start.is_leaf, start.grad

    start, loss, leaf, grad = suture.compile(fn, backend=backend, fullgraph=True)(torch.ones(4))
    loss.backward()
    assert leaf and grad is None and start.is_leaf
    torch.testing.assert_close(start.grad, torch.full((4,), 2.0))


def test_a_part_of_an_input_becomes_a_leaf_by_python():
    def fn(x):
        y = x.detach().requires_grad_()
        return y * 2, y.is_leaf

    check(fn, torch.randn(4), graphs=2, breaks=["GB0125"])


def test_stacked_parameters_of_an_ensemble():
    models = [nn.Linear(4, 2) for _ in range(3)]
    base = nn.Linear(4, 2)

    def fn(x):
        parameters, buffers = torch.func.stack_module_state(models)

        def run(p, b, x):
            return torch.func.functional_call(base, (p, b), (x,))

        return torch.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)

    check(fn, torch.randn(3, 4))


def test_a_view_of_a_computed_tensor_becomes_a_leaf_by_python():
    def fn(x):
        y = x.sin()
        leaf = y.detach().requires_grad_()
        with torch.no_grad():
            leaf.add_(1)
        return leaf * 2, y

    check(fn, torch.randn(4), graphs=2, breaks=["GB0125"])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_factories_told_to_require_grad_make_leaves(backend):
    def fn(x):
        w = torch.ones(3, requires_grad=True)
        b = x.new_zeros(3, requires_grad=True)
        return w, b, (w * x + b * 2).sum()

    x = torch.randn(3)
    w, b, out = suture.compile(fn, backend=backend, fullgraph=True)(x)
    out.backward()
    assert w.is_leaf and torch.equal(w.grad, x)
    assert b.is_leaf and torch.equal(b.grad, torch.full((3,), 2.0))
    check(fn, x)


def test_a_random_leaf_is_drawn_once():
    check(lambda x: torch.rand(3, requires_grad=True) * x, torch.randn(3))


def test_a_leaf_whose_size_changes_is_made_by_python():
    fn = suture.compile(lambda n: torch.ones(n, requires_grad=True), backend="aot_eager")
    assert all(fn(n).requires_grad for n in (3, 4, 5))


def test_making_a_leaf_runs_no_operation_outside_the_graph():
    def backend(gm, inputs):
        def run(*args):
            with record_function("graph"):
                return gm.forward(*args)

        return run

    def fn(x):
        return nn.Parameter(torch.ones(4)) * x, torch.zeros(4).requires_grad_() + x

    compiled = suture.compile(fn, backend=backend)
    compiled(torch.ones(4))
    with profile() as seen:
        compiled(torch.ones(4))
    outside = [
        e.name for e in seen.function_events if e.cpu_parent is None and e.name.startswith("aten")
    ]
    assert outside == ["aten::ones"]  # the argument


def test_a_leaf_that_is_detached_from_a_variable():
    """The variable shows the leaf's memory, and is gone where the function returns."""

    def fn(x):
        hidden = x * 2
        leaf = hidden.detach().requires_grad_()
        (leaf * 3).sum().backward()
        return leaf, leaf.grad

    check(fn, torch.ones(3), grads=False)


def test_a_leaf_that_is_detached_from_what_is_returned():
    def fn(x, keep):
        hidden = x * 2
        leaf = hidden.detach().requires_grad_()
        keep.append(lambda: hidden)
        return leaf * 3

    kept = []
    made = suture.compile(fn, backend="eager")(torch.ones(3), kept)
    kept[0]().add_(1)
    leaf = made.grad_fn.next_functions[0][0].variable
    assert torch.equal(leaf, torch.full((3,), 3.0))
