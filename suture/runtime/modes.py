"""What is around a compiled graph that switches modes of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from suture.torch_private import tensor_parts, thread_state


def around(
    compiled: Callable[..., Any], resets: list[Any], torch_function_off: bool
) -> Callable[..., Any]:
    """A compiled graph. Should it raise, the modes that it switched are put back (`resets`: setters
    and their arguments, the last switched first). `torch_function_off`: it
    runs without `__torch_function__`."""
    kept = keeping(compiled, resets) if resets else compiled
    return without_torch_function(kept) if torch_function_off else kept


def keeping(compiled: Callable[..., Any], resets: list[Any]) -> Callable[..., Any]:
    """A compiled graph; should it raise, the modes it switched are put back, and the levels of
    autocast that it has entered are left."""
    switched = [
        (setter, before) for setter, before in resets if setter is not change_autocast_nesting
    ]
    nests = len(switched) < len(resets)

    def run(*args: Any) -> Any:
        level = change_autocast_nesting(0) if nests else 0
        try:
            return compiled(*args)
        except BaseException:
            for setter, before in switched:
                setter(*before)
            if nests:  # where it raised is not known
                change_autocast_nesting(level - change_autocast_nesting(0))
            raise

    return run


def without_torch_function(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled graph, run without `__torch_function__`."""

    def run(*args: Any) -> Any:
        with tensor_parts.DisableTorchFunctionSubclass():
            return compiled(*args)

    return run


def change_autocast_nesting(by: int) -> int:
    """Count up or down the levels of autocast; at none, casts that are kept are thrown away."""
    for _ in range(abs(by)):
        step = torch.autocast_increment_nesting if by > 0 else torch.autocast_decrement_nesting
        step()
    level = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    if by < 0 and level == 0:
        torch.clear_autocast_cache()
    return level


def without_autocast(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled graph, run with autocast off: its casts are in it."""
    off = thread_state.DisableAutocast

    def run(*args: Any) -> Any:
        with off():
            return compiled(*args)

    return run


def without_grad(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled graph, run with grad mode off, which may be on around it."""
    switch = torch.set_grad_enabled

    def run(*args: Any) -> Any:
        with switch(False):
            return compiled(*args)

    return run


class NoRange(contextlib.nullcontext, contextlib.ContextDecorator):  # type: ignore[type-arg]
    """What a named range of a profiler is while a graph is made: a block, or a decorator, that does
    nothing."""
