"""Dropout that drops nothing gives back its input, whatever is a symbol."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import suture
from tests.harness import Outcome, check, compare

KINDS = {
    "off": lambda x, p: F.dropout(x, p, training=False),
    "nothing": lambda x, p: F.dropout(x, 0.0),
    "in place": lambda x, p: F.dropout(x, 0.5, False, True),
    "operator": lambda x, p: torch.dropout(x, 0.5, False),
    "by a number": lambda x, p: F.dropout(x, p, True),
    "wrong": lambda x, p: F.dropout(x, p - 2, False),
    "wrong and known": lambda x, p: F.dropout(x, 1.5, False),
    "too much": lambda x, p: F.dropout(x, 0.5, False, other=1),
}


@pytest.mark.parametrize("drop", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_what_is_written_to_the_result_is_written_to_the_input(drop, backend, dynamic):
    def fn(x, p):
        y = drop(x, p)
        same = y is x
        y += 1
        return y, same, x * 2

    compiled = suture.compile(fn, backend=backend, dynamic=dynamic)
    for rows, p in ((4, 0.5), (5, 0.25), (6, 0.0), (7, 0.0)):
        eager = Outcome(fn, (torch.ones(rows, 2), p), {})
        compare(eager, Outcome(compiled, (torch.ones(rows, 2), p), {}))


def test_a_residual_written_behind_dropout_in_evaluation():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = torch.nn.Dropout(0.1)

        def forward(self, x):
            hidden = x.sin()
            out = self.drop(hidden)
            out += x
            return out, hidden

    check(Block().eval(), torch.randn(3, 2), dynamic=True, backend="aot_eager")
