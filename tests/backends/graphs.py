"""Small graphs with fake example inputs, as a tracer would hand them to a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from suture.backends import TracedGraph


def traced(fn: Callable[..., Any], *inputs: torch.Tensor) -> TracedGraph:
    """The graph of `fn`, which returns a tuple, and its inputs as fake tensors of one mode."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)
    gm = torch.fx.symbolic_trace(fn)
    return TracedGraph(gm, [mode.from_tensor(one) for one in inputs], mode)
