"""Names of nodes are those that torch.fx gives, and asking for one keeps nothing alive."""

from __future__ import annotations

import operator

import pytest
import torch
from torch import fx

from suture.torch_private import graph_modules


def named(target, op, times=3):
    """The names of several nodes with a target, as torch.fx has them and with ours asked first."""
    plain, ours = fx.Graph(), fx.Graph()
    for _ in range(times):
        plain.create_node(op, target, ())
        ours.create_node(op, target, (), {}, graph_modules.name_for(ours, target))
    return [n.name for n in plain.nodes], [n.name for n in ours.nodes]


@pytest.mark.parametrize("target", [torch.add, operator.getitem, torch._C._nn.gelu, len, torch.sin])
def test_functions_in_c(target):
    plain, ours = named(target, "call_function")
    assert plain == ours


@pytest.mark.parametrize("target", ["add_", "__getitem__", "viewAs", "T", "size"])
def test_methods(target):
    plain, ours = named(target, "call_method")
    assert plain == ours


def test_what_belongs_to_the_program_is_not_kept():
    def closure(x):
        return x

    tensor = torch.ones(2)
    for target in (closure, tensor.add, torch.nn.functional.relu, [].append):
        assert graph_modules.name_for(fx.Graph(), target) is None
        assert not any(target is known for known in graph_modules._names)
