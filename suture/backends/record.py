"""A backend that keeps the graphs it is given: for tests and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from suture.backends.registry import CompilerFn, lookup

_CALLS = ("call_function", "call_method", "call_module")


def count_ops(gm: torch.fx.GraphModule) -> int:
    """How many operations a graph has: its nodes that call something."""
    return sum(node.op in _CALLS for node in gm.graph.nodes)


@dataclass
class Recorded:
    """One graph as it reached the backend, and how often it has been run since.

    `text` is the graph as Python, taken before the inner backend could change the module.
    """

    gm: torch.fx.GraphModule
    inputs: tuple[Any, ...]
    ops: int
    text: str
    runs: int = 0


class Recorder:
    """A backend that records each graph and lets another backend (`eager`) compile it:
    `suture.compile(fn, backend=recorder)(x)`, and then `recorder.count`, `recorder.ops`."""

    __name__ = "record"

    def __init__(self, inner: str | CompilerFn = "eager") -> None:
        self.inner = lookup(inner)
        self.graphs: list[Recorded] = []

    @property
    def count(self) -> int:
        """How many graphs there were."""
        return len(self.graphs)

    @property
    def ops(self) -> int:
        """How many operations all graphs have together."""
        return sum(graph.ops for graph in self.graphs)

    @property
    def runs(self) -> int:
        """How often graphs were run, all together."""
        return sum(graph.runs for graph in self.graphs)

    def clear(self) -> None:
        """Forget the graphs."""
        self.graphs.clear()

    def __call__(
        self, gm: torch.fx.GraphModule, inputs: Sequence[Any], **kwargs: Any
    ) -> Callable[..., Any]:
        record = Recorded(gm, tuple(inputs), count_ops(gm), gm.code)
        self.graphs.append(record)
        compiled = self.inner(gm, inputs, **kwargs)

        def run(*args: Any) -> Any:
            record.runs += 1
            return compiled(*args)

        return run
