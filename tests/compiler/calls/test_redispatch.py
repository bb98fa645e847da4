"""redispatch_function: the function that it calls looks for overrides once more, and finds none."""

from __future__ import annotations

import pytest
import torch
from torch.overrides import handle_torch_function, has_torch_function

import suture

redispatch_function = getattr(torch.overrides, "redispatch_function", None)
pytestmark = pytest.mark.skipif(redispatch_function is None, reason="torch before 2.13")


class Passing(torch.Tensor):
    """Takes over nothing, by calling what it was asked about."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return redispatch_function(func, types, args, kwargs or {})


def added(a, b):
    if has_torch_function((a, b)):
        return handle_torch_function(added, (a, b), a, b)
    return a + b


def added_behind_a_break(a, b):
    suture.graph_break()
    if has_torch_function((a, b)):
        return handle_torch_function(added_behind_a_break, (a, b), a, b)
    return a + b


@pytest.mark.parametrize("fn", [added, added_behind_a_break])
def test_a_function_that_asks_for_overrides_is_asked_once(fn):
    x = torch.ones(2).as_subclass(Passing)
    compiled = suture.compile(lambda x: fn(x, x), backend="eager")
    for _ in range(2):
        made, expected = compiled(x), fn(x, x)
        assert type(made) is type(expected)
        assert torch.equal(made, expected)


def test_a_function_of_torch_that_asks_for_overrides():
    def fn(x):
        return torch.nn.functional.softmax(x, 0), torch.nn.functional.relu(x)

    x = torch.rand(3).as_subclass(Passing)
    for made, expected in zip(suture.compile(fn, backend="eager")(x), fn(x), strict=True):
        assert type(made) is type(expected)
        assert torch.equal(made, expected)
