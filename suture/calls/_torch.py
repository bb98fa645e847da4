"""The private parts of torch that the calls room imports; tried on torch 2.11 to 2.13."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._device import DeviceContext
from torch.utils._device import _device_constructors as device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

try:
    from torch._C._dynamo import guards as _allocators
except ImportError:
    _allocators = None  # type: ignore[assignment]

__all__ = ["DeviceContext", "TorchDispatchMode", "allocate", "device_constructors", "pytree"]


def allocate(shape: Any, strides: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Memory as a tensor, whose numbers are anything. On a CPU it comes from where Inductor's code
    gets its buffers, past the dispatcher: no operation runs."""
    plain = getattr(_allocators, "_empty_strided_cpu", None) if device.type == "cpu" else None
    if plain is None:
        return torch.empty_strided(shape, strides, dtype=dtype, device=device)
    made: torch.Tensor = plain(shape, strides, dtype)
    return made
