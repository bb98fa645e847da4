"""torch.compile means suture.compile, for programs that cannot be edited."""

from __future__ import annotations

import functools
from typing import Any

import torch

from suture.api import compile as _compile

_original: Any = None


def install() -> None:
    """Make `torch.compile` (and `nn.Module.compile`, which calls it) use suture."""
    global _original
    if _original is not None:
        return
    _original = torch.compile

    @functools.wraps(_original)
    def compile(model: Any = None, **kwargs: Any) -> Any:
        return _compile(model, **kwargs)

    torch.compile = compile


def uninstall() -> None:
    """Give `torch.compile` back to torch."""
    global _original
    if _original is not None:
        torch.compile, _original = _original, None
