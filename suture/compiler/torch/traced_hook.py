"""The node that sets a hook whose body was traced. Unlike the rest of suture, what it sets may be
traced: compiled autograd traces the hooks of a backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def set_hook_(
    tensor: torch.Tensor, body: Callable[..., Sequence[torch.Tensor]], *lifted: Any
) -> None:
    """Set a traced hook: `body` takes the gradient and what it uses, and gives a tuple, empty if
    the hook gives None. A node of graphs."""

    def hook(grad: torch.Tensor) -> torch.Tensor | None:
        made = getattr(body, "forward", body)(grad, *lifted)  # hooks of modules do not see it
        return made[0] if made else None

    tensor.register_hook(hook)
