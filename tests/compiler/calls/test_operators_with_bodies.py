"""Operators that take functions: what their bodies may give back and carry, and their names."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop
from torch._higher_order_ops.wrap import wrap

import suture
from tests.harness import Graphs, check

NUMBERS = torch.arange(3.0)


def test_a_body_gives_back_what_it_found():
    def fn(x):
        y = x * 2
        return wrap(lambda a: y, x), y

    check(fn, torch.randn(3), ops=[["mul"]])


def test_a_body_gives_back_what_it_was_given():
    def fn(x):
        y = x * 2
        made = wrap(lambda a, b: (y, a + y, a, {"b": b, "n": 3}), x, y)
        return made, made[2] is x, made[3]["b"] is y

    check(fn, torch.randn(3), ops=[["mul", "wrap", "getitem"]])
    check(fn, torch.randn(3), backend="aot_eager")


def test_a_body_without_arguments():
    def fn(x):
        return wrap(lambda: x), wrap(lambda: NUMBERS), wrap(lambda: x.sin())

    check(fn, torch.randn(3), ops=[["wrap", "getitem"]])


def test_bodies_in_bodies_give_back_what_is_outside():
    def fn(x):
        return wrap(lambda a: wrap(lambda b: (b.cos(), a, x), a + 1), x)

    check(fn, torch.randn(3), graphs=1)


def test_a_loop_counts_in_a_number_of_python():
    def fn(x, n):
        w = x.sum()
        return while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w), (0, x))

    check(fn, torch.ones(3), 3, graphs=1)
    check(fn, torch.ones(3), 0, graphs=1)


def test_a_loop_of_many_turns_that_carries_a_number_is_left_to_torch():
    def fn(x):
        return while_loop(lambda i, y: i < 100, lambda i, y: (i + 1, y + 1), (0, x))

    check(fn, torch.ones(3), graphs=None, breaks=["GB2060"])


def test_data_ends_a_loop_that_carries_a_number():
    def fn(x):
        return while_loop(lambda i, y: y.sum() < 30, lambda i, y: (i + 1, y * 2), (0, x))

    check(fn, torch.ones(3), graphs=None, breaks=["GB2060"])


def names_of(fn, *args):
    suture.reset()
    graphs = Graphs()
    suture.compile(fn, backend=graphs)(*args)
    (module,) = graphs.modules
    return module, [name for name, _ in module.named_modules() if name]


def test_bodies_are_found_by_their_names():
    def branch(x):
        return torch.cond(x.sum() > 0, lambda z: z.sin(), lambda z: z.cos(), (x,))

    def loop(x):
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))

    def nested(x):
        return wrap(lambda a: a.sin() + wrap(lambda b: b.cos(), a), x)

    def again(x):
        return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)

    module, names = names_of(branch, torch.ones(3))
    assert names == ["cond_true_0", "cond_false_0"]
    assert "sin" in module.cond_true_0.code and "cos" in module.cond_false_0.code
    assert names_of(loop, torch.ones(3))[1] == ["cond_fn_0", "body_fn_0"]
    assert names_of(nested, torch.ones(3))[1] == ["wrap_body_1", "wrap_body_1.wrap_body_0"]
    assert names_of(again, torch.ones(3, requires_grad=True))[1] == ["wrap_body_0"]


@pytest.mark.parametrize("operands", [(), ((),)])
def test_a_branch_without_operands(operands):
    def fn(x):
        return torch.cond(x.sum() > 0, lambda: x.sin(), lambda: x.cos(), *operands)

    check(fn, torch.ones(3), graphs=1)
    check(fn, -torch.ones(3), graphs=1)


def test_a_branch_takes_and_gives_containers():
    def fn(x):
        return torch.cond(
            x.sum() > 0,
            lambda d: {"a": d["x"].sin(), "b": [d["y"][0] + 1]},
            lambda d: {"a": d["x"].cos(), "b": [d["y"][1] + 2]},
            ({"x": x, "y": (x, x * 2)},),
        )

    check(fn, torch.ones(3), graphs=1)
