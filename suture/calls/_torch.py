"""The private parts of torch that the calls room imports; tried on torch 2.11 to 2.13."""

from __future__ import annotations

from torch.utils import _pytree as pytree
from torch.utils._device import DeviceContext
from torch.utils._device import _device_constructors as device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["DeviceContext", "TorchDispatchMode", "device_constructors", "pytree"]
