"""Kinds of operations, asked of nodes of a graph."""

import pytest
import torch

from suture import op_kinds


def node(target, *args, **kwargs):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    call = graph.call_method if isinstance(target, str) else graph.call_function
    return call(target, (x, *args), kwargs)


@pytest.mark.parametrize(
    "target",
    [
        "resize_", "resize_as_", "set_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_",
        "unsqueeze_", "as_strided_", "detach_", "requires_grad_", "set_data", torch.detach_,
        torch.Tensor.resize_, torch.ops.aten.t_, torch.ops.aten.t_.default,
    ],
)  # fmt: skip
def test_what_changes_a_tensor_is_known_in_each_form(target):
    assert op_kinds.changes_tensor(node(target))


@pytest.mark.parametrize("target", ["add_", "view", "copy_", torch.sin, torch.ops.aten.t.default])
def test_what_writes_or_looks_changes_no_tensor(target):
    assert not op_kinds.changes_tensor(node(target))


def test_an_input_called_like_an_operation_is_none():
    graph = torch.fx.Graph()
    assert not op_kinds.changes_tensor(graph.placeholder("t_"))


def test_views_as_methods_and_as_functions():
    for target in ("transpose", torch.transpose, torch.unbind):
        assert op_kinds.may_be_view(node(target))
    assert op_kinds.gives_several_views(node(torch.unbind))
    assert not op_kinds.gives_several_views(node(torch.transpose))
    assert not op_kinds.may_be_view(node(torch.ops.aten.t.default))


def test_what_may_do_no_more_than_copy():
    assert op_kinds.may_copy(node("clone"))
    assert op_kinds.may_copy(node(torch.mul, 1))
    assert op_kinds.may_copy(node("__add__", 0))
    assert not op_kinds.may_copy(node(torch.mul, 2))


def test_sums():
    for target in ("add", "add_", torch.add, torch.ops.aten.add.Tensor):
        assert op_kinds.is_sum(node(target))
    assert not op_kinds.is_sum(node(torch.sub))
