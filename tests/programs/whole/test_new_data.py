"""`tensor.data = other`: the memory behind a tensor is exchanged, and its history is not."""

import pytest
import torch

import suture
from tests.harness import check


def parameter():
    return torch.randn(3, 4, requires_grad=True)


def both(fn, *args, **expected):
    """On graphs as they are, and through AOTAutograd."""
    check(fn, *args, **expected)
    expected = {k: v for k, v in expected.items() if k not in ("graphs", "ops")}
    check(fn, *args, backend="aot_eager", **expected)


def test_an_argument_gets_the_memory_of_another():
    def fn(x, y):
        x.data = y
        return x * 2

    both(fn, torch.randn(3, 4), torch.randn(3, 4))
    both(fn, parameter(), torch.randn(3, 4))


def test_an_argument_gets_another_shape():
    def fn(x, y):
        x.data = y
        return x * 2, x.shape

    both(fn, torch.randn(3, 4), torch.randn(5))
    both(fn, torch.randn(3, 4), torch.randn(4, 3).t())


def test_what_is_written_to_the_new_memory_is_seen():
    def fn(x, y):
        x.data = y
        y.mul_(2)
        return x * 2

    def below(x):
        base = x * 2
        x.data = base[1]
        base.add_(1)
        return x * 3, base

    both(fn, parameter(), torch.randn(3, 4))
    both(below, torch.randn(3, 4))


def test_the_old_memory_is_as_it_was():
    def fn(x):
        old, view = x.data, x.view(-1)
        x.data = old * 2
        return x * 3, old, view

    both(fn, parameter())


def test_memory_is_shared_behind_the_call():
    def fn(x, y):
        x.data = y
        return x + 1

    for backend in ("eager", "aot_eager"):
        suture.reset()
        x, y = torch.zeros(3), torch.zeros(3)
        held = x
        suture.compile(fn, backend=backend)(x, y)
        y.add_(5)
        assert held is x and x.tolist() == [5.0, 5.0, 5.0]


def test_derivatives_go_to_the_tensor_before_and_after():
    def fn(x):
        y = x * 2
        x.data = x.data + 1
        z = x * 5
        x.data = x.data * 3
        return y + z + x.sin()

    both(fn, parameter())


def test_two_tensors_are_exchanged():
    def fn(x, y):
        x.data, y.data = y.data, x.data
        return x * 2 + y * 3

    both(fn, parameter(), parameter())


def test_weights_are_averaged():
    def fn(model, average, x):
        for new, kept in zip(model.parameters(), average.parameters()):
            kept.data = kept.data * 0.9 + new.data * 0.1
        return average(x)

    def make():
        return torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.randn(2, 4)

    both(fn, make=make)


def test_weights_become_parts_of_one_memory():
    def fn(model, x):
        flat, at = torch.cat([p.data.view(-1) for p in model.parameters()]), 0
        for p in model.parameters():
            p.data = flat[at : at + p.numel()].view_as(p)
            at += p.numel()
        return model(x), flat

    both(fn, make=lambda: (torch.nn.Linear(4, 4), torch.randn(2, 4)))


def test_a_step_without_an_optimizer():
    def fn(x, y):
        (x * y).sum().backward()
        x.data = x.data - 0.1 * x.grad.data
        return x, x.is_leaf, x.grad_fn

    both(fn, parameter(), torch.randn(3, 4))


def test_a_tensor_made_here_gets_other_memory():
    def fn(x, y):
        made = x + 1
        made.data = y
        y.add_(1)
        return made * 2, made

    both(fn, torch.randn(3, 4), torch.randn(3, 4))


def test_a_leaf_is_not_written_in_place():
    def fn(x):
        x.data = x.data * 2
        return x.add_(1)

    check(fn, parameter(), breaks=None, graphs=None, interpreted=None)


def test_a_leaf_is_written_where_nobody_differentiates():
    def fn(x):
        x.data = x.data * 2
        with torch.no_grad():
            x.add_(1)
        return x * 3

    check(fn, parameter(), breaks=["GB0056"], graphs=2)


def test_derivatives_by_a_tensor_whose_memory_was_exchanged_are_whole():
    def fn(x):
        y = x.sin()
        x.data = x.data + 1
        return torch.autograd.grad((x * y).sum(), x)[0]

    check(fn, parameter(), breaks=["GB0123"], graphs=None)


def test_one_tensor_as_two_arguments():
    def fn(x, y):
        x.data = x.data * 2
        return x + y

    compiled = suture.compile(fn, backend="eager")
    for same in (False, True, False):
        x = torch.ones(3)
        y = x if same else torch.ones(3)
        expected = 4.0 if same else 3.0
        assert compiled(x, y).tolist() == [expected] * 3


@pytest.mark.parametrize("kept", [True, False])
def test_through_inductor(kept):
    def fn(model, x):
        if kept:
            old = model.weight.data
        model.weight.data = model.weight.data.clamp(-0.1, 0.1)
        out = model(x)
        return (out, old) if kept else out

    check(fn, make=lambda: (torch.nn.Linear(4, 4), torch.randn(2, 4)), backend="inductor")
