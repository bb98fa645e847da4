"""The private parts of torch that the calls room imports; tried on torch 2.11 to 2.13."""

from __future__ import annotations

from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["TorchDispatchMode", "pytree"]
