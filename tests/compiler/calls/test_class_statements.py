"""Classes that a compiled function defines."""

from __future__ import annotations

import dataclasses

import torch

import suture
from tests.harness import check


def test_a_dataclass_made_in_a_call_is_written_by_python_at_one_break():
    def fn(x):
        @dataclasses.dataclass
        class Pair:
            first: object
            second: int = 3

        made = Pair(x)
        return made.first * made.second, repr(made.second)

    graphs = check(fn, torch.ones(2), graphs=1, breaks=None, recompiles=None)
    assert graphs.numbers.count("GB0007") == 1
    assert suture.stats().variants < 12
