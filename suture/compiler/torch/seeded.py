"""Whether operations draw random numbers: what is computed twice must not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suture.compiler.core import Value
from suture.op_effects import draws
from suture.torch_private.tensor_parts import TorchDispatchMode


class NotesSeeded(TorchDispatchMode):  # type: ignore[misc]
    """Notes whether an operation draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Value] = (), kwargs: Any = None
    ) -> Any:
        self.seen = self.seen or draws(func)
        return func(*args, **(kwargs or {}))
