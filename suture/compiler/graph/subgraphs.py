"""Bodies of operators that take functions: graphs inside the graph.

While a body is traced, new nodes go into its own graph. A node of a graph further out that the
body uses becomes a placeholder of the body, and an argument of the operator that runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch.fx

from suture.breaks import Break, higher_order


@dataclass(slots=True, eq=False)
class Level:
    """One graph under construction. `formal` are the placeholders of its own arguments; `lifted`
    maps nodes of the graph around it to the placeholders that stand for them here."""

    graph: torch.fx.Graph
    attributes: dict[str, Any] = field(default_factory=dict)
    formal: list[torch.fx.Node] = field(default_factory=list)
    lifted: dict[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)

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

    def push(self) -> Level:
        self.stack.append(Level(torch.fx.Graph(tracer_cls=None)))
        return self.top

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
