"""Tensors made of NumPy's scalars have the scalars' dtype, from the first call on."""

from __future__ import annotations

import numpy
import pytest
import torch

import suture
from tests.harness import Outcome, compare

MADE = {
    "tensor": lambda x, n: torch.tensor(n),
    "as_tensor": lambda x, n: torch.as_tensor(n),
    "asarray": lambda x, n: torch.asarray(n),
    "a list": lambda x, n: torch.tensor([n, n]),
    "lists": lambda x, n: torch.tensor([[n], [n]]),
    "a dtype": lambda x, n: torch.tensor(n, dtype=torch.float32),
    "like another": lambda x, n: x.new_tensor(n),
    "computed": lambda x, n: torch.tensor(n * 2),
}
KINDS = ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "bool")


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_of_a_scalar(name, kind):
    def fn(x, n):
        return x + 1, MADE[name](x, n)

    compiled = suture.compile(fn, backend="eager")
    for number in (1, 0, 3):
        args = torch.ones(2), numpy.dtype(kind).type(number)
        compare(Outcome(fn, args, {}), Outcome(compiled, args, {}), grads=False)
