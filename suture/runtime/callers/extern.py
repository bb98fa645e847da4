"""Functions that Inductor's code calls by name and that are Python of Inductor, remade."""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private import inductor_code


def bias_addmm(
    bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, **options: Any
) -> torch.Tensor:
    """torch.addmm, given one row where all rows of `bias` are one: there is a faster kernel."""
    rows = bias.size(0)
    if rows == 1 or (rows and bias.stride(0) == 0):
        bias = bias[0]
    return torch.addmm(bias, a, b, **options)


def assert_tensor_metadata(
    tensor: torch.Tensor | None, size: Any, stride: Any, dtype: torch.dtype, name: str
) -> None:
    """Raise unless a result of the operation `name`, if it has one, is what the kernels after it
    were compiled for."""
    if tensor is None:
        return
    if tensor.dtype != dtype:
        raise RuntimeError(f"a result of {name} should be of {dtype} and is of {tensor.dtype}")
    inductor_code.assert_size_stride(tensor, size, stride, name)


# Of its table of operations; and what its code imports from it (since torch 2.14).
REMADE = {"bias_addmm": bias_addmm}
IMPORTED = {"assert_tensor_metadata": assert_tensor_metadata}
