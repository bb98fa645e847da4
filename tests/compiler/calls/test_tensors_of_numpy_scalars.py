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


def put(i, v):
    i[0] = v
    i[1:] = v


USED = {
    "filled": lambda i, v: torch.full((2,), v),
    "filled like": lambda i, v: (torch.full_like(i, v), i.new_full((2,), v)),
    "added": lambda i, v: (i + v, v + i, torch.add(i, v)),
    "subtracted": lambda i, v: (i - v, torch.rsub(i, v)),
    "chosen": lambda i, v: (torch.where(i > 1, v, v), torch.where(i > 1, i, v)),
    "a limit": lambda i, v: i.clamp(min=v),
    "compared": lambda i, v: (i > v, v != i),
    "a range": lambda i, v: torch.arange(0, 3, v),
    "a power": lambda i, v: i**v,
    "a flag": lambda i, v: i.sum(0, keepdim=v),
    "an item": lambda i, v: i[v],
    "put": put,
    "made": lambda i, v: torch.tensor([v, v]),
    "a size": lambda i, v: torch.zeros(v),
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


@pytest.mark.parametrize("name", USED)
@pytest.mark.parametrize("kind", [*KINDS, "uint64"])
def test_a_scalar_next_to_a_tensor_of_ints(name, kind):
    number = numpy.dtype(kind).type(1)

    def of_argument(i, n):
        return USED[name](i, n), i + 1

    def of_constant(i):
        return USED[name](i, number), i + 1

    suture.reset()
    for fn, more in ((of_argument, (number,)), (of_constant, ())):
        compiled = suture.compile(fn, backend="eager")
        for _ in range(2):
            plain, ours = (Outcome(f, (torch.arange(3), *more), {}) for f in (fn, compiled))
            compare(plain, ours, grads=False)
