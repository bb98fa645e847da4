"""Tensors that leave a region in which backward() was called: the loss, and what it came from.

What their graph saved is freed: they are only good to raise what eager raises if backward() is
called again. A compiler would differentiate them when it compiles, which is no longer possible. So
the graph gives the numbers alone, and the variant makes a tensor of them that requires grad and is
connected to the leaves it was computed from, and to others of its kind in between: the engine
raises on the way to these, and finds no way to anything else. What differs from eager is the name
of its `grad_fn`. Of two that share memory autograd would know that; such are left to Python, unless
one is the loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from suture.compiler.emit.inputs import InputReads
from suture.compiler.emit.writer import Writer
from suture.compiler.graph.builder import GraphBuilder
from suture.runtime.freed_graph import with_freed_graph
from suture.runtime.sources import Source
from suture.torch_private import tensor_parts


@dataclass(frozen=True, slots=True)
class _Freed:
    """A tensor to be made, under its name: below the leaves at `sources` and the tensors in
    `others`. `behind` are the nodes of autograd that it was computed through."""

    name: str
    sources: list[Source]
    others: list[str]
    behind: list[Any]


def write_freed(writer: Writer, builder: GraphBuilder) -> list[str]:
    """Let the graph give tensors whose graph is freed without their history, and the lines that
    make them what they were."""
    made: dict[Any, _Freed] = {}  # by their nodes of autograd
    for node, behind in _freed_outputs(writer, builder):
        plain, _ = builder.call("call_method", "detach", (node,), {})
        name = writer.replace_output(node, plain)
        between = [made[one] for one in behind[1:] if one in made]
        reached = {one for other in between for one in other.behind}
        sources = _leaves(builder, [one for one in behind if one not in reached])
        made[behind[0]] = _Freed(name, sources, [other.name for other in between], behind)
    reads = InputReads(writer, [source for one in made.values() for source in one.sources])
    lines = []
    for one in made.values():
        above = ", ".join((one.name, *map(reads.read, one.sources), *one.others))
        lines.append(f"{one.name} = {writer.constant(with_freed_graph, 'freed')}({above})")
    return ["    " + line for line in (*reads.lines, *lines, *reads.release())]


def _freed_outputs(writer: Writer, builder: GraphBuilder) -> list[tuple[Any, list[Any]]]:
    """The nodes of the graph that give tensors whose graph is freed, each behind those it was
    computed from, with the nodes of autograd that it was computed through."""
    memory = Counter(_memory(node.meta.get("example_value")) for node in writer.outputs)
    found = []
    for node in writer.outputs:
        value = node.meta.get("example_value")
        if value is None or not builder.derivatives.is_freed(value):
            continue
        if memory[_memory(value)] > 1 and id(value) not in builder.derivatives.losses:
            continue
        found.append((node, builder.derivatives.nodes_behind(value)))
    return sorted(found, key=lambda pair: len(pair[1]))


def _leaves(builder: GraphBuilder, nodes: list[Any]) -> list[Source]:
    """Where the leaves are read again that these nodes of autograd end at."""
    ends = {id(one.variable) for one in nodes if hasattr(one, "variable")}
    return [
        entry.source
        for entry in builder.inputs
        if entry.source is not None and id(entry.node.meta.get("example_value")) in ends
    ]


def _memory(value: Any) -> int | None:
    """What tensors have in common that share memory; None for what has none."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    return tensor_parts.storage_key(value)
