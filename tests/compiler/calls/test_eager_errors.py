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


FACTORS = {
    "a float": lambda: 2.5,
    "an int": lambda: 2,
    "numbers": lambda: [2, 2.5],
    "a tensor": lambda: torch.tensor(2.5),
    "tensors": lambda: [torch.full((2,), 2.5)] * 2,
    "a complex number": lambda: 2j,
}


@pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)
@pytest.mark.parametrize("kind", [torch.int64, torch.bool, torch.float32])
def test_products_that_the_tensors_of_a_list_cannot_hold_raise(factor, kind):
    def fn(tensors):
        torch._foreach_mul_(tensors, factor())
        return tensors

    def make():
        return ([torch.ones(2, dtype=kind), torch.ones(2, dtype=kind)],)

    check(fn, make=make, backend="aot_eager", graphs=None, breaks=None)
