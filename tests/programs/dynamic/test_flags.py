"""Comparisons of sizes given to operations that take plain flags only."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.programs.dynamic.counting import compilations


def attend(q):
    return F.scaled_dot_product_attention(q, q, q, is_causal=q.shape[-2] > 1)


def test_a_flag_compared_from_a_size_guards_the_comparison_only():
    calls = [(torch.randn(1, 2, n, 4),) for n in (3, 5, 7, 9)]
    assert compilations(attend, *calls, fullgraph=True) == [1, 2, 2, 2]


def test_a_flag_compared_from_a_number_is_decided():
    def fn(x, n):
        return torch.argsort(x, -1, n > 3), F.dropout(x, 0.0, n > 3)

    calls = [(torch.randn(2, 4), n) for n in (1, 2, 3, 5, 6)]
    assert compilations(fn, *calls, fullgraph=True) == [1, 2, 2, 3, 3]
