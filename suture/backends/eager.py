"""The backend that runs the graph as it is, operation by operation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.backends.registry import register_backend

_log = logging.getLogger("suture.backends")


@register_backend("eager", tags=("debug",))
def eager(gm: torch.fx.GraphModule, inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
    """The graph's own `forward`. Options are of no use to it; it says so in the log."""
    if kwargs:
        _log.warning("the backend 'eager' takes no options; ignored: %s", ", ".join(kwargs))
    run: Callable[..., Any] = gm.forward
    return run
