"""Whether operations draw random numbers: what is computed twice must not."""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private.tensor_parts import TorchDispatchMode


class NotesSeeded(TorchDispatchMode):
    """Notes whether an operation draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen = self.seen or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))
