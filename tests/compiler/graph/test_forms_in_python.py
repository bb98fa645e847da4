"""Operations that look at data only to check it have a form without that, which graphs take."""

from __future__ import annotations

import torch

from tests.harness import check


def test_istft_is_part_of_the_graph():
    window = torch.hann_window(16)

    def fn(x):
        return torch.istft(x * 2, 16, 4, 16, window) + 1

    x = torch.randn(2, 9, 8, dtype=torch.complex64)
    check(fn, x, ops=[["mul", "istft", "add"]])


def test_an_operation_that_answers_with_data_is_still_left_to_python():
    check(lambda x: (x.sin(), torch.equal(x, x)), torch.ones(2), breaks=["GB0033"], graphs=1)
