"""Nested tensors: those of jagged layout are captured; what touches others is run by Python."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check

BACKENDS = (None, "aot_eager")


def jagged(*lengths, requires_grad=False):
    pieces = [torch.randn(n, 3) for n in lengths or (2, 4)]
    return torch.nested.nested_tensor(pieces, layout=torch.jagged, requires_grad=requires_grad)


def same(left, right):
    return all(torch.allclose(a, b) for a, b in zip(left.unbind(), right.unbind()))


@pytest.mark.parametrize("backend", BACKENDS)
def test_operations_on_jagged_tensors(backend):
    linear = torch.nn.Linear(3, 5)

    def fn(x):
        y = (x * 2 + 1).sin()
        return y, linear(x).relu(), y.sum(-1), x.values() + 1, x.offsets(), x.shape[0]

    check(fn, make=lambda: (jagged(),), backend=backend, grads=False)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pieces_padding_and_reductions(backend):
    def fn(x):
        return [t * 2 for t in x.unbind()], x.to_padded_tensor(0.0), x.sum(1), x.transpose(1, 2)

    check(fn, make=lambda: (jagged(),), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_jagged_tensors_are_made_inside(backend):
    def fn(a, b, values, offsets):
        made = torch.nested.as_nested_tensor([a.sin(), b.cos()], layout=torch.jagged)
        other = torch.nested.nested_tensor_from_jagged(values, offsets)
        return (made * 2).values(), other.sin().values() * 2

    def make():
        return torch.randn(2, 3), torch.randn(4, 3), torch.randn(6, 3), torch.tensor([0, 2, 6])

    check(fn, make=make, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_flow_through_jagged_tensors(backend):
    def fn(x):
        return (x * 2).sin().values().sum()

    grads = []
    for run in (fn, suture.compile(fn, backend=backend or "eager")):
        torch.manual_seed(0)
        x = jagged(requires_grad=True)
        run(x).backward()
        grads.append(x.grad)
    assert same(*grads)


def test_other_lengths_do_not_compile_again():
    def fn(x):
        return x.sin() * 2

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for lengths in ((3, 5), (4, 6), (7, 5), (4, 4)):
        x = jagged(*lengths)
        assert same(compiled(x), fn(x))
    assert suture.stats().variants == 1


def test_pieces_of_equal_lengths_only_by_chance_are_told_apart():
    def fn(x, y):
        return x + y

    compiled = suture.compile(fn, backend="eager")
    x = jagged(2, 4)
    y = torch.nested.nested_tensor_from_jagged(
        torch.randn(6, 3), x.offsets(), min_seqlen=2, max_seqlen=4
    )
    assert same(compiled(x, y), fn(x, y))
    with pytest.raises(RuntimeError, match="inputs of shapes"):
        compiled(jagged(2, 4), jagged(2, 4))


def test_a_break_between_operations_on_jagged_tensors():
    def fn(x):
        y = x.sin()
        suture.graph_break()
        return y * 2

    check(fn, make=lambda: (jagged(),), graphs=2, breaks=("GB0025",))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_strided_nested_tensor_breaks_with_its_number():
    def fn(x):
        return (x * 2).to_padded_tensor(0.0).sin()

    def make():
        return (torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)]),)

    check(fn, make=make, breaks=("GB0016", "GB0016"))


def test_verification_compares_the_pieces():
    def fn(x):
        return (x * 2).sin()

    suture.reset()
    with suture.config.patch(verify=True, strict=True):
        compiled = suture.compile(fn, backend="eager")
        for _ in range(2):
            x = jagged()
            assert same(compiled(x), fn(x))


def test_nested_tensors_made_of_intermediates_have_a_derivative():
    """AOTAutograd traces the graph more than once: a ragged size has the same symbol each time."""

    def fn(values, lengths):
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        left = torch.nested.nested_tensor_from_jagged(values * 2, offsets)
        right = torch.nested.nested_tensor_from_jagged(values, offsets)
        return (left * right).sin()

    lengths = torch.tensor([2, 4, 3])
    want, got = torch.ones(9, 5, requires_grad=True), torch.ones(9, 5, requires_grad=True)
    compiled = suture.compile(fn, backend="aot_eager", fullgraph=True)
    for values, run in ((want, fn), (got, compiled)):
        run(values, lengths).values().sum().backward()
    torch.testing.assert_close(got.grad, want.grad)


@pytest.mark.parametrize("write", [False, True])
def test_derivatives_are_compiled_for_any_batch(write, caplog):
    """The number of pieces is known where it does not change: one that only looks like a symbol was
    counted as one when the graph was compiled, and not when it ran."""

    def fn(x, y):
        z = x.sin()
        if write:
            y.sin_()
        return z.cos(), y.cos()

    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return suture.backends.lookup("aot_eager")(gm, inputs)

    compiled = suture.compile(fn, backend=backend)
    for lengths in ((2, 4), (3, 2), (5, 2, 2), (6, 2, 3, 4), (2, 2, 2, 2, 3)):
        ours, theirs = jagged(*lengths, requires_grad=True), torch.ones(2)
        copy = ours.detach().clone().requires_grad_()
        written = theirs.clone()
        made, expected = compiled(ours, theirs), fn(copy, written)
        assert torch.equal(made[1], expected[1]) and torch.equal(theirs, written)
        assert same(made[0], expected[0])
        made[0].values().sum().backward()
        expected[0].values().sum().backward()
        assert torch.allclose(ours.grad.values(), copy.grad.values())
    assert len(graphs) <= 2
    assert "raised" not in caplog.text
