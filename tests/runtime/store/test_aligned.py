"""Inputs of code that expects them at multiples of 16 bytes, and functions that Inductor has."""

from __future__ import annotations

import pytest
import torch

from suture.runtime.callers.aligned import ALIGNMENT, aligned
from suture.runtime.callers.extern import assert_tensor_metadata, bias_addmm


def odd(*shape):
    count = torch.Size(shape).numel()
    found = torch.arange(count + 1.0)[1:].reshape(shape)
    assert found.data_ptr() % ALIGNMENT
    return found


def doubling(args):
    """Writes to its first input, and says where its inputs are."""
    found = [one.data_ptr() % ALIGNMENT for one in args]
    args[0].mul_(2)
    strides = [one.stride() for one in args]
    args.clear()
    return found, strides


def test_inputs_are_copied_where_they_begin_elsewhere():
    x, y = odd(3, 4), odd(3, 4).t()
    run = aligned(doubling, (0, 1), (0,))
    assert run([x, y]) == ([0, 0], [(4, 1), (1, 4)])
    torch.testing.assert_close(x, torch.arange(1.0, 13.0).reshape(3, 4) * 2)
    torch.testing.assert_close(y.t(), torch.arange(1.0, 13.0).reshape(3, 4))


def test_inputs_that_nobody_checks_are_left_alone():
    x, y = torch.ones(4), odd(4)
    found, _ = aligned(doubling, (0,), (0,))([x, y])
    assert found[0] == 0
    assert found[1] != 0
    torch.testing.assert_close(x, torch.full((4,), 2.0))


def test_an_input_without_elements():
    assert aligned(doubling, (0,), (0,))([torch.ones(0, 3)]) == ([0], [(3, 1)])


@pytest.mark.parametrize("bias", [torch.randn(5), torch.randn(5).expand(3, 5), torch.randn(3, 5)])
def test_a_bias_of_one_row(bias):
    a, b, out = torch.randn(3, 4), torch.randn(4, 5), torch.empty(3, 5)
    given = bias if bias.dim() == 2 else bias[None]
    torch.testing.assert_close(bias_addmm(given, a, b, out=out, alpha=2), given + 2 * (a @ b))
    torch.testing.assert_close(out, given + 2 * (a @ b))


def test_results_of_operations_are_checked_as_inductors_code_does():
    """torch 2.14 and later have this in the code that they write."""
    x = torch.ones(2, 3)
    for tensor in (x, None):
        assert_tensor_metadata(tensor, (2, 3), (3, 1), torch.float32, "torch.ops.aten.mm")
    with pytest.raises(RuntimeError, match=r"of torch.ops.aten.mm should be of torch.float64"):
        assert_tensor_metadata(x, (2, 3), (3, 1), torch.float64, "torch.ops.aten.mm")
    with pytest.raises(AssertionError, match="stride"):
        assert_tensor_metadata(x, (2, 3), (1, 2), torch.float32, "torch.ops.aten.mm")
