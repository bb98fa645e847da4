"""How the core reads tensors: configured once, when suture is imported."""

from __future__ import annotations

import torch

from suture import _core
from suture.torch_private import releases, tensor_parts


def configure_core() -> None:
    """Tell the core which types are tensors, and whether it may read them in memory."""
    releases.warn_if_untried()
    kinds = (torch.Tensor, torch.nn.Parameter)
    _core.configure_tensors(kinds, tensor_parts.TensorBase, releases.reads_memory())
