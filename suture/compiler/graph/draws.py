"""Which calls of a body that draws random numbers may be calls of one body.

A call of a body is `invoke_subgraph`, of which AOTAutograd does not know that it draws. Two things
could be told then. It takes operations that are equal, with equal arguments, for one: two layers
would have one mask. And it may run in the backward graph again what is cheap: the mask of the
backward would be another.

The first cannot be where two calls differ in a tensor that is an input of the graph, a weight. No
pass takes two inputs for one: AOTAutograd does where both are the same tensor, which are one input
here, or share memory that is written, which keeps a call inlined. The second is a matter of
settings (`torch_private.drawing`): under their defaults a call is never run again, and inside of
the body the partitioner decides as it does in the whole graph, for a body is divided into forward
and backward by the same function.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.fx

from suture.compiler.graph.signatures import Body
from suture.op_effects import draws_nothing, effects_of


def draws(node: torch.fx.Node) -> bool:
    """Whether a node may draw random numbers."""
    return effects_of(node).draws and not draws_nothing(node)


def told_apart(bodies: Sequence[Body]) -> list[bool]:
    """For each body whether it differs from all before it that do, in an input of the graph."""
    kept: list[Body] = []
    found = []
    for body in bodies:
        apart = all(_differ(body, other) for other in kept)
        found.append(apart)
        if apart:
            kept.append(body)
    return found


def _differ(one: Body, other: Body) -> bool:
    return any(_are_two_inputs(a, b) for a, b in zip(one.inputs, other.inputs))


def _are_two_inputs(one: torch.fx.Node, other: torch.fx.Node) -> bool:
    if one is other or one.op != "placeholder" or other.op != "placeholder":
        return False
    values = one.meta["example_value"], other.meta["example_value"]
    return values[0] is not values[1] and all(isinstance(v, torch.Tensor) for v in values)
