"""Which call of the program made which nodes of the graph.

Every call that is inlined is a span. The nodes that are made while it runs, calls below it
included, follow one another in the graph. A function or a module that is called again is a second
span of the same code: `outline` looks whether its nodes are the same too.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType

import torch.fx


@dataclass(slots=True, eq=False)
class Span:
    """One call, inlined. `marked`: the program says that it is a region of its own
    (`torch.compiler.nested_compile_region`)."""

    code: CodeType
    parent: Span | None
    marked: bool = False


@dataclass(slots=True, eq=False)
class Stretch:
    """The nodes of one span: `nodes[first:last + 1]` of the graph, if they are `whole`, that is,
    if no other node is among them."""

    span: Span
    first: int
    last: int
    count: int = 0

    @property
    def whole(self) -> bool:
        return self.last - self.first + 1 == self.count


def stretches(nodes: list[torch.fx.Node], spans: dict[torch.fx.Node, Span]) -> list[Stretch]:
    """Where the nodes of each call are, calls in the order in which they made their first node."""
    found: dict[Span, Stretch] = {}
    for at, node in enumerate(nodes):
        span = spans.get(node)
        while span is not None:
            stretch = found.get(span)
            if stretch is None:
                stretch = found[span] = Stretch(span, at, at)
            stretch.last = at
            stretch.count += 1
            span = span.parent
    return list(found.values())
