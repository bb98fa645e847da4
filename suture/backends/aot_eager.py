"""The backend that goes through AOTAutograd and then runs the graphs as they are.

It shows whether a difference comes from AOTAutograd (functionalisation, the joint graph) or from
the compiler behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.backends.registry import register_backend
from suture.torch_private import compilers
from suture.torch_private.aot_training import boxed_graph

_log = logging.getLogger("suture.backends")


@register_backend("aot_eager", tags=("debug",))
def aot_eager(gm: torch.fx.GraphModule, inputs: Sequence[Any], **kwargs: Any) -> Callable[..., Any]:
    """A callable that runs the forward graph; its outputs run the backward graph."""
    if kwargs:
        _log.warning("the backend 'aot_eager' takes no options; ignored: %s", ", ".join(kwargs))
    return compilers.aot_eager(gm, inputs, boxed_graph)
