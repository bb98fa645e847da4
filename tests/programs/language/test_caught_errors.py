"""Errors that the program handles come up where they do in eager, in the same words."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.harness import check

REFUSED = {
    "a text and a tensor": lambda x: "a" + x,
    "a list and a text": lambda x: [x] + "a",
    "a tuple and a dict": lambda x: (x,) + {},
    "bytes and a list": lambda x: b"a" + [x],
    "a list times a text": lambda x: [x] * "a",
    "a list times a dict": lambda x: {} * [x],
    "a format of one number": lambda x: f"{x:.2f}",
    "an int's format of a float": lambda x: f"{x.sum():d}",
    "a float's format of a text": lambda x: f"{'a':.2f}",
    "a stride too far": lambda x: x.stride(7),
    "an attribute of no tensor": lambda x: x.nothing_of_the_kind,
    "a parameter of ints": lambda x: nn.Parameter(torch.tensor([1])),
    "a parameter of a text": lambda x: nn.Parameter("a"),
    "a derivative of nothing": lambda x: torch.autograd.grad(x.sum(), x),
    "bits of floats": lambda x: x & 1,
    "bits of floats together": lambda x: x | (x > 1),
    "a row that is not there": lambda x: F.embedding(torch.tensor([9]), x),
    "a class that is not there": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 9])),
    "ints in place": lambda x: torch.ones(3, dtype=torch.int64).add_(1.5),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_an_error_is_caught_where_eager_raises_it(name):
    refuse = REFUSED[name]

    def fn(x):
        y = x * 2
        try:
            made = refuse(x)
        except Exception as error:
            return type(error).__name__, str(error), y + 1
        return made, y

    x = torch.arange(12.0).view(3, 4)
    check(fn, x, graphs=None, breaks=None, recompiles=None, interpreted=None)
