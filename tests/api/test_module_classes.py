"""The class of a compiled module can be replaced, on it or on the original, as torch does it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

import suture


@pytest.fixture(params=["on the compiled module", "on the original"])
def linear(request):
    """(what to change, the compiled module, the same module uncompiled)"""
    torch.manual_seed(0)
    module = nn.Linear(4, 4)
    plain = copy.deepcopy(module)
    compiled = suture.compile(module, backend="eager")
    compiled(torch.randn(2, 4))
    return (compiled if "compiled" in request.param else module), compiled, plain


def test_parametrized_after_compile(linear):
    changed, compiled, plain = linear
    for module in (changed, plain):
        parametrizations.weight_norm(module)
    x = torch.randn(2, 4)
    torch.testing.assert_close(compiled(x), plain(x))
    for module in (compiled, plain):
        module(x).sum().backward()
    assert list(compiled.state_dict()) == list(plain.state_dict())
    for ours, theirs in zip(compiled.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    assert parametrize.is_parametrized(compiled)
    parametrize.remove_parametrizations(changed, "weight")
    assert compiled.__class__ is nn.Linear
    torch.testing.assert_close(compiled(x), plain(x))


def test_another_class_has_another_forward_and_other_methods(linear):
    changed, compiled, plain = linear

    class Doubled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2

        def told(self):
            return "doubled"

    changed.__class__ = Doubled
    x = torch.randn(2, 4)
    torch.testing.assert_close(compiled(x), plain(x) * 2)
    assert compiled.told() == "doubled" and isinstance(compiled, Doubled)
    assert compiled._orig_mod.__class__ is Doubled
    with pytest.raises(AttributeError, match="nothing"):
        _ = compiled.nothing


def test_a_class_that_python_refuses_changes_nothing():
    compiled = suture.compile(nn.Linear(4, 4), backend="eager")
    with pytest.raises(TypeError, match="__class__ assignment"):
        compiled.__class__ = int
    assert compiled.__class__ is nn.Linear and type(compiled._orig_mod) is nn.Linear


def test_compiled_and_original_are_one_key():
    module = nn.Linear(4, 4)
    compiled = suture.compile(module, backend="eager")
    assert compiled == module and module == compiled and {module: 1}[compiled] == 1
    assert compiled == suture.compile(compiled, backend="eager")
    assert compiled != nn.Linear(4, 4) and compiled != 3


def test_checkpointed_in_a_wrapper_after_compile():
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    plain = checkpoint_wrapper(copy.deepcopy(module))
    wrapped = checkpoint_wrapper(suture.compile(module, backend="aot_eager"))
    x = torch.randn(2, 4)
    for made in (plain, wrapped):
        made(x).sum().backward()
    for ours, theirs in zip(wrapped.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
