"""Checks on numbers from data, which only the running graph can make."""

from __future__ import annotations

from typing import Any

import torch.fx

from suture.torch_private import symbolic_shapes


def bind_unbacked(shape_env: Any, node: torch.fx.Node, value: Any) -> list[Any]:
    """Note on the node which new numbers from data its result brings, as backends expect; gives
    their symbols."""
    if not shape_env.pending_fresh_unbacked_symbols:
        return []
    try:
        bindings = symbolic_shapes.compute_unbacked_bindings(shape_env, value)
    except symbolic_shapes.PendingUnbackedSymbolNotFound:
        shape_env.pending_fresh_unbacked_symbols.clear()
        return []
    if bindings:
        node.meta["unbacked_bindings"] = bindings
    return list(bindings or ())


def has_asserts(shape_env: Any) -> bool:
    """Whether something was assumed of numbers from data: the graph may then raise where the
    program does not."""
    return any(shape_env.deferred_runtime_asserts.values())


def put_asserts(module: torch.fx.GraphModule, shape_env: Any) -> None:
    """Put what was assumed of numbers from data into the graph, as assertions."""
    if not has_asserts(shape_env):
        return
    known = _numbers_as_found(module, shape_env)
    symbolic_shapes.insert_deferred_runtime_asserts(module, shape_env, "region")
    for node, value in known.items():
        node.meta["example_value"] = node.meta["val"] = value
    module.recompile()


def _numbers_as_found(module: torch.fx.GraphModule, shape_env: Any) -> dict[torch.fx.Node, Any]:
    """Let the numbers from data that were found to equal something else be numbers of their own
    again; gives the values they had. Else torch takes the number itself for what it must be
    compared with."""
    known = {}
    for node in module.graph.nodes:
        value = node.meta.get("example_value")
        found = node.meta.get("unbacked_bindings")
        if found and isinstance(value, torch.SymInt) and value.node.expr not in found:
            known[node] = value
            node.meta["example_value"] = node.meta["val"] = shape_env.create_unbacked_symint()
            shape_env.pending_fresh_unbacked_symbols.pop()
    return known


def is_scalar(module: torch.fx.GraphModule) -> bool:
    """Whether the graph computes with Python numbers only."""
    return not any(
        isinstance(node.meta.get("example_value"), (torch.Tensor, list, tuple, dict))
        for node in module.graph.nodes
        if node.op != "output"
    )
