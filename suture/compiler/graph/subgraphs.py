"""Bodies of operators that take functions: graphs inside the graph.

While a body is traced, new nodes go into its own graph. A node of a graph further out that the
body uses becomes a placeholder of the body, and an argument of the operator that runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from suture.breaks import Break, higher_order
from suture.torch_private.symbolic_shapes import expression_now as _now

_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass(slots=True, eq=False)
class Level:
    """One graph under construction. `formal` are the placeholders of its own arguments; `lifted`
    maps nodes of the graph around it to the placeholders that stand for them here. `runs_once`:
    the operator whose body it is runs it exactly once, at the call."""

    graph: torch.fx.Graph
    attributes: dict[str, Any] = field(default_factory=dict)
    formal: list[torch.fx.Node] = field(default_factory=list)
    lifted: dict[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)
    runs_once: bool = False

    def placeholder(self, name: str, value: Any) -> torch.fx.Node:
        """One more argument of this graph, behind those it has."""
        have = [*self.formal, *self.lifted.values()]
        first = next(iter(self.graph.nodes), None)
        around = (
            self.graph.inserting_after(have[-1]) if have else self.graph.inserting_before(first)
        )
        with around:
            node = self.graph.placeholder(name)
        node.meta["example_value"] = value
        node.meta["val"] = value
        return node

    def module(self, outputs: list[torch.fx.Node]) -> torch.fx.GraphModule:
        """The finished graph, which takes `formal`, then `lifted`, and gives a tuple."""
        self.graph.output(tuple(outputs))
        root = torch.nn.Module()
        for name, value in self.attributes.items():
            setattr(root, name, value)
        return torch.fx.GraphModule(root, self.graph, "Body")


class Levels:
    """The graphs being built, outermost first."""

    def __init__(self, root: torch.fx.Graph, attributes: dict[str, Any]) -> None:
        self.stack = [Level(root, attributes)]

    @property
    def top(self) -> Level:
        return self.stack[-1]

    def push(self, runs_once: bool = False) -> Level:
        self.stack.append(Level(torch.fx.Graph(tracer_cls=None), runs_once=runs_once))
        return self.top

    def belongs_outside(self, op: str, target: Any, args: Any, kwargs: Any, value: object) -> bool:
        """Whether what would be a node of a body that runs exactly once is a number made of numbers
        of the outermost graph, or the size of one of its arguments: it can as well be computed
        there, and leave the body."""
        if not self._all_run_once() or not isinstance(value, _NUMBERS):
            return False
        nodes: list[torch.fx.Node] = []
        torch.fx.map_arg((args, kwargs), nodes.append)
        if any(node.graph is not self.stack[0].graph for node in nodes):
            return False
        is_size = (op, target) == ("call_method", "size") and nodes[0].op == "placeholder"
        return is_size or all(isinstance(n.meta["example_value"], _NUMBERS) for n in nodes)

    def outer_size(self, size: torch.SymInt) -> tuple[torch.fx.Node, int] | None:
        """In a body that runs once: an argument of the outermost graph, and its dimension that has
        this symbolic size; None if there is none."""
        if not self._all_run_once():
            return None
        for node in self.stack[0].graph.find_nodes(op="placeholder"):
            value = node.meta.get("example_value")
            sizes: Sequence[int | torch.SymInt] = ()
            if isinstance(value, torch.Tensor):
                sizes = value.shape
            for i, n in enumerate(sizes):
                if isinstance(n, torch.SymInt) and _now(n) == _now(size):
                    return node, i
        return None

    def _all_run_once(self) -> bool:
        return len(self.stack) > 1 and all(level.runs_once for level in self.stack[1:])

    def pop(self) -> Level:
        return self.stack.pop()

    def lift(self, node: torch.fx.Node) -> torch.fx.Node:
        """The node that stands for `node` in the innermost graph."""
        if node.graph is self.top.graph:
            return node
        at = next((i for i, level in enumerate(self.stack) if level.graph is node.graph), None)
        if at is None:
            reason = "it uses a tensor that was made in another body"
            raise Break(higher_order.BODY_BREAKS, operator="an operator", reason=reason)
        for level in self.stack[at + 1 :]:
            found = level.lifted.get(node)
            if found is None:
                found = level.placeholder(f"outer_{node.name}", node.meta["example_value"])
                level.lifted[node] = found
            node = found
        return node
