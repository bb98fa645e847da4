"""Numbers that change next to True and False, and truths computed from them."""

from __future__ import annotations

import pytest
import torch

import suture

EXPRESSIONS = [
    "n == False",
    "n in (True, False)",
    "n + True",
    "True < n",
    "divmod(n, True)",
    "(n > 3) is True",
    "(n > 3) is not (n > 5)",
    "(n > 3) + (n > 2)",
    "(n > 3) * 1.5",
    "max(n, True)",
    "min(True, n)",
    "min(3, n)",
    "max(2.5, n)",
    "n != (n > 3)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("numbers", [(5, 6, 7, 2), (5.5, 6.5, 2.5)])
def test_numbers_that_change_beside_truths(expression, numbers):
    scope = {}
    exec(f"def fn(n, x): return x + 1, {expression}", scope)
    compiled = suture.compile(scope["fn"], backend="eager")
    with suture.config.patch(strict=True):
        for number in numbers:
            got = compiled(number, torch.ones(2))[1]
            wanted = scope["fn"](number, torch.ones(2))[1]
            assert got == wanted
            assert type(got) is type(wanted)


def test_is_true_of_a_number_in_a_tensor():
    def fn(x):
        large = (x.sum().item() > 2) is True
        return (x + 1, large) if large else (x - 1, large)

    compiled = suture.compile(fn, backend="eager")
    for start in (0.5, 3.0):
        x = torch.full((2,), start)
        assert compiled(x)[1] is fn(x)[1]
        assert torch.equal(compiled(x)[0], fn(x)[0])
    assert not suture.stats().interpreted
