"""Memory as tensors, without an operation."""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private import tensor_parts
from suture.torch_private.table import is_missing


def allocate(shape: Any, strides: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Memory as a tensor, whose numbers are anything. On a CPU it comes from where Inductor's code
    gets its buffers, past the dispatcher: no operation runs."""
    plain = tensor_parts.empty_strided_cpu
    if device.type != "cpu" or is_missing(plain):
        return torch.empty_strided(shape, strides, dtype=dtype, device=device)
    made: torch.Tensor = plain(shape, strides, dtype)
    return made
