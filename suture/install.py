"""torch.compile means suture.compile, for programs that cannot be edited."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from suture import switches
from suture.api import compile as _compile
from suture.api import reset as _reset
from suture.stance import STANCES
from suture.stance import set_stance as _set_stance

_originals: dict[tuple[Any, str], Any] = {}


def install() -> None:
    """Make `torch.compile` (and `nn.Module.compile`, which calls it) use suture. What programs say
    to the compiler, `torch.compiler.set_stance` and `torch.compiler.reset`, reaches suture too."""
    if not _originals:
        switches.on = True
        _replace(torch, "compile", _torch_compile)
        _replace(torch.compiler, "set_stance", _torch_set_stance)
        _replace(torch.compiler, "reset", _torch_reset)


def uninstall() -> None:
    """Give `torch.compile` and the rest back to torch."""
    switches.on = False
    for (where, name), original in _originals.items():
        setattr(where, name, original)
    _originals.clear()


def _replace(where: Any, name: str, make: Any) -> None:
    original = getattr(where, name)
    _originals[where, name] = original
    setattr(where, name, functools.wraps(original)(make(original)))


def _torch_compile(original: Any) -> Any:
    def compile(model: Any = None, **kwargs: Any) -> Any:
        return _compile(model, **kwargs)

    return compile


def _torch_set_stance(original: Any) -> Any:
    def set_stance(stance: str = "default", **kwargs: Any) -> Any:
        return _set_stance(stance) if stance in STANCES else original(stance, **kwargs)

    return set_stance


def _torch_reset(original: Any) -> Any:
    def reset() -> None:
        _reset()
        if "torch._dynamo" in sys.modules:
            original()

    return reset
