"""What `compile_graph` is asked: which graph, where it is from, what may be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx


@dataclass(frozen=True)
class TracedGraph:
    """A graph, and what tracing knows of its inputs.

    `inputs` are the example inputs: fake tensors of `fake_mode`, and numbers. `fakes` are the
    inputs as they were while tracing, with their symbols; without them `inputs` are. `static` are
    the positions of inputs that keep their address (parameters, buffers), `floats_aside` the names
    of symbolic floats that are not in the graph. `symbolic`: guards are made of what a backend
    assumes of sizes, so all of it must be known when it is done.
    """

    module: torch.fx.GraphModule
    inputs: Sequence[Any]
    fake_mode: Any = None
    fakes: Sequence[Any] = ()
    static: Sequence[int] = ()
    floats_aside: Sequence[str] = ()
    symbolic: bool = False

    def derives(self) -> bool:
        """Whether autograd, as it is switched now, follows an operation on the inputs."""
        tensors = (one for one in self.inputs if isinstance(one, torch.Tensor))
        return torch.is_grad_enabled() and any(one.requires_grad for one in tensors)


@dataclass(frozen=True)
class Origin:
    """Where a graph is from, for errors and events: the function, the point, and the graph's name
    if it has one."""

    function: str = ""
    point: str = ""
    graph: str = ""


@dataclass(frozen=True)
class Allowed:
    """What may be done with a graph, by all that its operations do not show.

    `in_parts`: one with barriers may be compiled in parts. `views_outside`: views that it ends with
    may be taken after it, because no mode changes in it and its inputs are plain tensors.
    """

    in_parts: bool = False
    views_outside: bool = False
