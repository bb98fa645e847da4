"""Numbers as inputs of a graph that the variant computes, and Python's floats among the inputs."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from suture.compiler.graph.asserts import bind_unbacked
from suture.compiler.graph.builder import GraphBuilder, GraphInput
from suture.compiler.graph.names import TorchName, valid_name
from suture.op_kinds import is_made_of_numbers
from suture.torch_private import symbolic_shapes


def add_number(
    builder: GraphBuilder, value: Any, hint: str, text: str, convert: Any
) -> torch.fx.Node | None:
    """A new input for a number (SymFloat or SymInt) that the variant computes by itself as
    `text`; gives the node of the number, or None if it cannot be a symbol."""
    known = value.node.hint
    made = symbolic_shapes.symbolic_number(builder.shape_env, known, TorchName(f"computed {hint}"))
    if made is None:
        return None
    builder.equals[symbolic_shapes.expression(made)] = value
    real, fake = made, made
    floating = isinstance(value, torch.SymFloat)
    if floating:
        real = convert(known)
        fake = builder.fake.from_tensor(real, static_shapes=True)
        fake.item_memo = made
    with builder.after_inputs():
        node = builder.graph.placeholder(
            builder.unique_name(valid_name(hint)), type_expr=type(real)
        )
    node.meta["example_value"] = node.meta["val"] = fake
    entry = GraphInput(node, real, None, False, convert if floating else None, text=text)
    builder.inputs.append(entry)
    if not floating:
        return node
    with builder.after_inputs():
        item = builder.graph.call_method("item", (node,))
    item.meta["example_value"] = item.meta["val"] = made
    return item


def floats_aside(builder: GraphBuilder) -> list[str]:
    """The names of the symbolic floats that no input of the graph is."""
    memos = [getattr(entry.node.meta["val"], "item_memo", None) for entry in builder.inputs]
    used = {str(m.node.expr) for m in memos if isinstance(m, torch.SymFloat)}
    return [
        s.name for s in builder.shape_env.var_to_range if not s.is_integer and s.name not in used
    ]


def pass_as_data(builder: GraphBuilder) -> None:
    """Let the floats among the inputs be numbers from data, of which nothing is known while
    the backend compiles."""
    for entry in builder.inputs:
        fake = entry.node.meta["val"]
        if not isinstance(getattr(fake, "item_memo", None), torch.SymFloat):
            continue
        for item in entry.node.users:
            fake.item_memo = None
            with builder.fake:
                value = fake.item()
            item.meta["example_value"] = item.meta["val"] = value
            bind_unbacked(builder.shape_env, item, value)


def makes_constants(builder: GraphBuilder) -> bool:
    """Whether tensors are made of numbers in the graph. torch computes with those while it
    compiles; with a float that is data they would be computed to be no number."""
    return any(map(is_made_of_numbers, builder.graph.nodes))
