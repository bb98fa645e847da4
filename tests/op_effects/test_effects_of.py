"""What operations write, draw and share: as torch's schemas say, and where they do not."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.fx
import torch.nn.functional as F

from suture.op_effects import MAY_DRAW, any_writes, declare, draws, draws_nothing, effects_of
from tests.harness import check

aten = torch.ops.aten


def node(target, *args, **kwargs):
    """A node that calls `target`; integers among the arguments stand for inputs."""
    graph = torch.fx.Graph()
    inputs = [graph.placeholder(f"x{i}") for i in range(8)]
    place = lambda a: inputs[a.place] if isinstance(a, X) else a  # noqa: E731
    args = torch.fx.node.map_aggregate(args, place)
    kwargs = torch.fx.node.map_aggregate(kwargs, place)
    if isinstance(target, str):
        return graph.call_method(target, args, kwargs)
    return graph.call_function(target, args, kwargs)


class X:
    """The input at a place."""

    def __init__(self, place: int) -> None:
        self.place = place


A, B, C, D, E = (X(i) for i in range(5))


def written(*call, **kwargs):
    """The names of the inputs that a call may write."""
    found = effects_of(node(*call, **kwargs)).writes
    flat: list = []
    for one in found:
        flat.extend(one if isinstance(one, (list, tuple)) else [one])
    return " ".join(n.name for n in flat)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((torch.add, A, B), ""),
        ((torch.sort, A), ""),
        ((operator.add, A, B), ""),
        ((operator.invert, A), ""),
        (("__invert__", A), ""),
        (("__int__", A), ""),
        (("__eq__", A, B), ""),
        (("__iand__", A, B), "x0"),
        (("add_", A, B), "x0"),
        (("__iadd__", A, B), "x0"),
        (("__setitem__", A, 0, B), "x0"),
        (("map_", A, B), "x0"),
        (("detach_", A), "x0"),
        ((operator.iadd, A, B), "x0"),
        ((operator.ior, A, B), "x0"),
        ((operator.and_, A, B), ""),
        ((operator.or_, A, B), ""),
        ((operator.not_, A), ""),
        ((operator.setitem, A, 0, B), "x0"),
        ((aten.add_.Tensor, A, B), "x0"),
        ((aten.add_, A, B), "x0"),
        ((aten.add.Tensor, A, B), ""),
        ((torch.relu_, A), "x0"),
        ((torch._foreach_add_, [A, B], 1), "x0 x1"),
        ((torch._foreach_add, [A, B], 1), ""),
        ((F.relu, A), ""),
        ((F.relu, A, True), "x0"),
        ((F.dropout, A, 0.5, True, True), "x0"),
        ((F.layer_norm, A, (3,)), ""),
        ((F.batch_norm, A, B, C, D, E), ""),
        ((F.batch_norm, A, B, C, D, E, True), "x1 x2"),
        ((torch.batch_norm, A, B, C, D, E, True, 0.1, 1e-5, False), "x3 x4"),
        ((torch.batch_norm, A, B, C, D, E, False, 0.1, 1e-5, False), ""),
        ((F.instance_norm, A, B, C), "x1 x2"),
        ((F.instance_norm, A, B, C, None, None, False), ""),
        ((F.embedding, A, B), ""),
        ((F.embedding, A, B, None, 1.0), "x1"),
        ((torch.embedding, A, B), ""),
    ],
)
def test_which_arguments_are_written(call, expected):
    assert written(*call) == expected


def test_arguments_given_by_name():
    assert written(torch.add, A, B, out=C) == "x2"
    assert written(aten.add.out, A, B, out=C) == "x2"
    assert written(F.relu, A, inplace=True) == "x0"
    assert written(F.relu, A, inplace=False) == ""
    assert written(F.batch_norm, A, B, C, training=True) == "x1 x2"
    assert written(F.batch_norm, A, running_mean=B, running_var=C, training=True) == "x1 x2"
    assert written(torch.max, A, 0, out=(B, C)) == "x1 x2"


@pytest.mark.parametrize(
    "target",
    [
        torch.binomial, torch.lstm, torch.gru, torch.dropout, torch.rand, torch.randperm,
        torch.multinomial, torch.normal, torch._standard_gamma, torch._sample_dirichlet, F.rrelu,
        F.dropout, F.dropout2d, F.alpha_dropout, F.gumbel_softmax, F.fractional_max_pool2d,
        F.multi_head_attention_forward, F.scaled_dot_product_attention, torch.svd_lowrank,
        aten.native_dropout.default, aten.bernoulli, "bernoulli", "uniform_", "exponential_",
    ],
)  # fmt: skip
def test_what_draws(target):
    found = effects_of(node(target, A))
    assert found.draws
    assert found.must_run


@pytest.mark.parametrize("target", [torch.sin, torch.add, F.linear, F.gelu, "sum", operator.mul])
def test_what_does_nothing_else(target):
    found = effects_of(node(target, A))
    assert not found.writes
    assert not found.must_run


@pytest.mark.parametrize(
    ("call", "shares"),
    [
        ((torch.t, A), True),
        (("view", A, 3), True),
        (("reshape", A, 3), True),
        (("add_", A, B), True),
        (("float", A), True),
        ((getattr, A, "T"), True),
        ((operator.getitem, A, 0), True),
        ((F.dropout, A), True),
        ((torch.sin, A), False),
        (("clone", A), False),
        ((aten.view.default, A, [3]), True),
        ((aten.sin.default, A), False),
    ],
)
def test_what_may_share_memory(call, shares):
    assert effects_of(node(*call)).aliases is shares


def test_what_must_run_for_its_own_sake():
    assert effects_of(node(torch._assert_async, A)).acts
    assert effects_of(node(torch._check, A)).acts
    assert effects_of(node("register_hook", A)).acts
    assert effects_of(node(torch._C._set_grad_enabled, False)).acts


def test_a_function_of_the_program_may_do_anything():
    def mine(x, y):
        return x

    found = effects_of(node(mine, A, B))
    assert [n.name for n in found.writes] == ["x0", "x1"]
    assert found.draws and found.aliases and found.acts


def test_nodes_that_compute_nothing():
    for one in torch.fx.symbolic_trace(torch.nn.Linear(2, 2)).graph.nodes:
        if one.op in ("placeholder", "get_attr", "output"):
            assert not effects_of(one).must_run


def test_a_custom_operator_says_what_it_writes():
    @torch.library.custom_op("suture_effects::bump", mutates_args=("y",))
    def bump(x: torch.Tensor, y: torch.Tensor) -> None:
        y.add_(x)

    assert written(torch.ops.suture_effects.bump.default, A, B) == "x1"
    assert written(torch.ops.suture_effects.bump, A, B) == "x1"


def test_a_custom_operator_that_writes_the_tensors_of_a_list():
    library = torch.library.Library("suture_effects", "FRAGMENT")
    library.define("bump_all(Tensor x, Tensor(a!)[] ys) -> ()")
    library.define("bump_all.by(Tensor x, Tensor(a!)[] ys, float by) -> ()")
    assert written(torch.ops.suture_effects.bump_all.default, A, [B, C]) == "x1 x2"
    assert written(torch.ops.suture_effects.bump_all, A, [B, C]) == "x1 x2"
    assert written(aten.sort, A) == ""


def test_a_function_can_say_what_it_does():
    def mine(x):
        return x

    declare(mine, MAY_DRAW)
    found = effects_of(node(mine, A))
    assert found.draws
    assert not found.writes


def test_operators_as_dispatch_modes_see_them():
    assert draws(aten.binomial.default)
    assert not draws(aten.sin.default)


# ---- programs in which one of the answers was wrong


def test_numbers_are_drawn_even_if_nobody_takes_them():
    def fn(x):
        torch.binomial(x, x / 10)
        return x.shape[0]

    check(fn, torch.full((4,), 5.0), graphs=1)


def test_an_lstm_with_dropout_draws_even_if_nobody_takes_its_result():
    lstm = torch.nn.LSTM(3, 4, num_layers=2, dropout=0.5)

    def fn(x):
        lstm(x)
        return x.shape[0]

    check(fn, torch.randn(5, 2, 3), graphs=1)


def test_a_function_of_autograd_that_draws():
    class Noise(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + torch.rand_like(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    def fn(x):
        Noise.apply(x)
        return x.shape[0]

    check(fn, torch.randn(3), graphs=1)


ATTENTION = (A, A, A, 4, 2, A, A, None, None, False, 0.1, A, A)


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (F.dropout, (A, 0.5, False), {}), (F.dropout, (A,), {"training": False}),
        (F.dropout, (A, 0.0), {}), (torch.dropout, (A, 0.5, False), {}),
        (F.scaled_dot_product_attention, (A, A, A), {}),
        (F.scaled_dot_product_attention, (A, A, A), {"dropout_p": 0.0, "is_causal": True}),
        (F.multi_head_attention_forward, ATTENTION, {"training": False}),
        (F.multi_head_attention_forward, (*ATTENTION[:10], 0.0, A, A), {"training": True}),
    ],
)  # fmt: skip
def test_what_draws_nothing_this_time(target, args, kwargs):
    assert draws_nothing(node(target, *args, **kwargs))


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (F.dropout, (A,), {}), (F.dropout, (A, 0.5, True), {}), (torch.dropout, (A, 0.5, True), {}),
        (F.scaled_dot_product_attention, (A, A, A), {"dropout_p": 0.1}),
        (F.multi_head_attention_forward, ATTENTION, {}),
        (F.rrelu, (A,), {"training": False}), (torch.rand, (0,), {}),
    ],
)  # fmt: skip
def test_what_may_draw_all_the_same(target, args, kwargs):
    assert not draws_nothing(node(target, *args, **kwargs))


def test_a_later_call_of_a_target_may_write_where_the_first_did_not():
    graph = torch.fx.Graph()
    x = graph.placeholder("add")
    first = graph.call_function(torch.add, (x, 1))
    graph.call_method("add", (first, 1))
    last = graph.call_function(torch.add, (first, 2))
    assert not any_writes(graph.nodes)
    last.kwargs = {"out": x}
    assert any_writes(graph.nodes)
    last.kwargs = {}
    last.target = operator.iadd
    assert any_writes(graph.nodes)
    graph.erase_node(last)
    assert not any_writes(graph.nodes)
    graph.call_module("add", (x,))
    assert any_writes(graph.nodes)


def test_an_argument_that_decides_is_looked_at_in_each_call():
    graph = torch.fx.Graph()
    x, mean, var = (graph.placeholder(name) for name in ("x", "mean", "var"))
    graph.call_function(F.batch_norm, (x, mean, var))
    assert not any_writes(graph.nodes)
    graph.call_function(F.batch_norm, (x, mean, var, None, None, True))
    assert any_writes(graph.nodes)
