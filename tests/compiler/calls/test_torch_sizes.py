"""Sizes, names and attributes set on tensors."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check

torch.manual_seed(0)
x = torch.randn(3, 4)
g = torch.randn(3, 4, requires_grad=True)
sz = torch.Size([4])


def test_size_cmp():
    def size_cmp(x, s):
        a = x.size()[1:]
        return (
            a != s,
            a == s,
            a == torch.Size((4,)),
            a == (4,),
            (4,) == a,
            len(s),
            s[0],
            s + torch.Size([2]),
            torch.Size([1]) + s,
            a.numel(),
            type(a) is torch.Size,
            isinstance(a, tuple),
        )

    check(size_cmp, x, sz, graphs=0)


def test_size_str():
    def size_str(x):
        return (
            str(x.shape),
            repr(x.shape),
            f"{x.shape}",
            f"{x.shape!r}",
            "%s" % (x.shape,),
            f"{tuple(x.shape)}",
        )

    check(size_str, x, graphs=0)


def test_argument_called_graph():
    def graph_name(graph):
        return graph + 1

    check(graph_name, x, graphs=1)


def test_names_of_the_variant():
    def held(held, run=2, jump=3):
        return held + 1 + run + jump

    check(held, x, graphs=1)


def test_set_attr():
    def set_attr(x):
        x.foo = 3
        y = x + 1
        y.bar = [x]
        return x.foo, y.bar[0], y

    check(set_attr, x, graphs=1)


def test_set_grad():
    def set_grad(x):
        x.grad = None
        y = (x * 2).sum()
        return y, x.grad

    check(set_grad, x.clone().requires_grad_(), graphs=1)


def test_set_grad_to_a_tensor():
    def set_grad2(x):
        x.grad = torch.ones(3, 4)
        return x.grad * 2

    check(set_grad2, x.clone().requires_grad_(), graphs=1)


def test_questions_of_torch_about_sizes_are_answered_while_tracing():
    from torch.fx.experimental import symbolic_shapes

    def fn(x):
        flags = (
            symbolic_shapes.guard_or_false(x.shape[0] == 3),
            symbolic_shapes.statically_known_true(x.shape[0] > 7),
            symbolic_shapes.sym_eq(tuple(x.shape), (3, 4)),
        )
        return x.sin(), flags, x.dim_order()

    check(fn, torch.randn(3, 4))
    check(fn, torch.randn(3, 4), dynamic=True)


@pytest.mark.parametrize("strides", [(1, 4, 16), (16, 4, 1), (1, 1, 1)])
def test_the_order_of_dimensions_of_strides_from_data_is_asked_by_python(strides):
    def fn(given):
        y = torch.empty_strided((4, 4, 4), given.tolist())
        return y.dim_order(), y.sin().shape

    check(fn, torch.tensor(strides), breaks=["GB2020"], graphs=None, recompiles=None)
