"""Inputs in memory that other processes write to as well."""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler.graph.builder import GraphBuilder
from suture.op_effects import written_by
from suture.op_kinds import writes_all
from suture.runtime.guards import Guards
from suture.runtime.predicates import in_own_memory
from suture.torch_private import tensor_parts


def writes_part_of_shared(builder: GraphBuilder) -> bool:
    """Whether the graph writes to some elements of an input whose memory processes share. Compilers
    write all of such an input back when the graph ends, over what others have put there meanwhile.
    Of those that are shared now: that they stay as they are, `guard_own_memory` sees to."""
    if not builder.writes():
        return False
    written = _partly_written(builder)
    inputs = [e for e in builder.inputs if _is_strided(e.example) and _memory(e.node) in written]
    return any(entry.example.is_shared() for entry in inputs)


def guard_own_memory(guards: Guards, builder: GraphBuilder) -> None:
    """Guard the inputs that the graph writes to some elements of: they are in memory of this
    process alone. What is shared later gets a variant of its own."""
    if not builder.writes():
        return
    written = _partly_written(builder)
    for entry in builder.inputs:
        if entry.source is not None and entry.convert is None and _is_strided(entry.example):
            if _memory(entry.node) in written:
                guards.add(entry.source, "truth", in_own_memory)


def _partly_written(builder: GraphBuilder) -> set[Any]:
    """The memory of inputs that the graph writes to some elements of."""
    return {
        _memory(at)
        for node in builder.graph.nodes
        for at in written_by(node)
        if not (at.op == "placeholder" and writes_all(node))
    } - {None}


def _is_strided(example: Any) -> bool:
    return bool(
        type(example) in (torch.Tensor, torch.nn.Parameter)
        and example.layout is torch.strided
        and example.device.type == "cpu"
    )


def _memory(node: torch.fx.Node) -> Any:
    value = node.meta.get("val", node.meta.get("example_value"))
    plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return tensor_parts.storage_key(value) if plain else None
