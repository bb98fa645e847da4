"""What is around a compiled graph that switches modes of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from suture.torch_private import tensor_parts


def around(
    compiled: Callable[..., Any], resets: list[Any], torch_function_off: bool
) -> Callable[..., Any]:
    """A compiled graph. Should it raise, the modes that it switched are put back (`resets`: setters
    and their arguments, the last switched first). `torch_function_off`: it
    runs without `__torch_function__`."""
    kept = keeping(compiled, resets) if resets else compiled
    return without_torch_function(kept) if torch_function_off else kept


def keeping(compiled: Callable[..., Any], resets: list[Any]) -> Callable[..., Any]:
    """A compiled graph; should it raise, the modes it switched are put back."""

    def run(*args: Any) -> Any:
        try:
            return compiled(*args)
        except BaseException:
            for setter, before in resets:
                setter(*before)
            raise

    return run


def without_torch_function(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled graph, run without `__torch_function__`."""

    def run(*args: Any) -> Any:
        with tensor_parts.DisableTorchFunctionSubclass():
            return compiled(*args)

    return run


class NoRange(contextlib.nullcontext, contextlib.ContextDecorator):  # type: ignore[type-arg]
    """What a named range of a profiler is while a graph is made: a block, or a decorator, that does
    nothing."""
