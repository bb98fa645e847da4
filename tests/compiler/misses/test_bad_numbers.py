"""Sizes and numbers that make no sense: eager's own errors, at the same call."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.programs.dynamic.counting import compilations

rand = torch.randn


@pytest.mark.parametrize(
    ("fn", "values"),
    [
        (lambda x, n: torch.zeros(n) + 1, (3, 4, -1, 5)),
        (lambda x, n: x.view(n, -1), (2, 3, 5, 4)),
        (lambda x, n: x.reshape(n), (12, 13, 12)),
        (lambda x, n: x * (n * n), (3, 4, 2**40, 5)),
        (lambda x, n: x + 2**n, (3, 4, 200, 5)),
        (lambda x, n: x // n, (3, 4, 0, 5)),
        (lambda x, n: x + 7 % n, (3, 4, 0, 5)),
        (lambda x, n: x.narrow(0, n, 2), (3, 4, 11, 5)),
        (lambda x, n: x.expand(n, 12), (3, 4, -2, 5)),
        (lambda x, n: x.topk(n).values, (3, 4, 13, 5)),
        (lambda x, n: x.sum(n), (0, -1, 1, 0)),
    ],
)
def test_errors_are_eagers(fn, values):
    compilations(fn, *((rand(12), n) for n in values), raises=True)
    assert not suture.stats().interpreted


def test_huge_sizes_are_refused_as_in_eager():
    calls = [(rand(2), n) for n in (3, 4, 2**50)]
    suture.reset()
    compiled = suture.compile(lambda x, n: torch.empty(n, 2**12).sum() + x, backend="eager")
    for x, n in calls[:2]:
        compiled(x, n)
    with pytest.raises(RuntimeError):
        compiled(*calls[2])


def test_sizes_that_do_not_fit_together_raise_as_in_eager():
    calls = [(rand(a), rand(b)) for a, b in ((3, 3), (4, 4), (5, 6), (1, 7), (8, 8))]
    compilations(lambda x, y: x + y, *calls, raises=True)
    calls = [(rand(2, a), rand(b, 2)) for a, b in ((3, 3), (4, 4), (5, 6), (8, 8))]
    compilations(lambda x, y: x @ y, *calls, raises=True)


def test_marking_inside_compiled_code_does_no_harm():
    def fn(x):
        y = x * 2
        torch._dynamo.maybe_mark_dynamic(y, 0)
        return y + 1

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    x = rand(3)
    torch.testing.assert_close(compiled(x), x * 2 + 1)
