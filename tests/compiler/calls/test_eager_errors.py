"""Operations that raise in eager and not on fake tensors."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check

PROGRAMS = {
    "a tensor minus a truth value": lambda x, flag: x - flag,
    "a truth value minus a tensor": lambda x, flag: flag - x,
    "a tensor minus a mask": lambda x, flag: x - (x > 0),
    "a number minus a mask": lambda x, flag: 1 - (x > 0),
    "the function": lambda x, flag: torch.sub(x, flag),
    "the method": lambda x, flag: x.sub(flag),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_subtraction_with_truth_values_raises_though_nobody_uses_the_result(name):
    subtract = PROGRAMS[name]

    def fn(x, flag):
        y = x + 1
        try:
            subtract(y, flag)
        except RuntimeError as error:
            return y, str(error)
        return y, ""

    check(fn, torch.ones(2), True, graphs=None, breaks=None)


def test_subtraction_with_truth_values_ends_the_program_as_in_eager():
    def fn(x):
        y = x * 2
        y - (x > 0)
        return y

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_subtraction_of_numbers_stays_in_the_graph():
    check(lambda x, n: (x - n, n - x, x - x), torch.ones(2), 2, graphs=1)
