"""Nested tensors: Python runs what touches them, and what is around them is captured."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check


def test_the_values_of_a_nested_tensor_are_plain_tensors():
    def fn(values, offsets):
        return torch.nested.nested_tensor_from_jagged(values, offsets).sin().values() * 2

    check(fn, torch.randn(6, 3), torch.tensor([0, 2, 6]), graphs=2, breaks=None)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_strided_nested_tensor_breaks_with_its_number():
    def fn(x):
        return (x * 2).to_padded_tensor(0.0).sin()

    def make():
        return (torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)]),)

    check(fn, make=make, breaks=("GB0016", "GB0016"))
