"""The reader of parameters and buffers of modules that are arguments, from their sources."""

from __future__ import annotations

from typing import Any

from suture.compiler.emit.writer import Writer
from suture.runtime.parameters import Parameters


def parameters_of(entries: list[Any]) -> Parameters:
    """The reader of these inputs of a graph, in their order."""
    owners = tuple({id(e.owner): e.owner for e in entries}.values())
    sources = tuple(e.source for e in entries)
    return Parameters(owners, sources, *_reader(owners, sources))


def _reader(owners: tuple[Any, ...], sources: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    """A function `read` from the modules to the tensors, and the constants that it names."""
    names = [f"module_{i}" for i in range(1 + max(owner.arg for owner in owners))]
    writer = Writer(names)
    values = [writer.source(one) for one in sources]
    head = f"def read({', '.join(names[owner.arg] for owner in owners)}):"
    source = "\n".join([head, *writer.lines, f"    return ({', '.join(values)},)"])
    return source, writer.namespace
