"""Graphs of a few operations that change nothing: they may be run as they are, and twice."""

from __future__ import annotations

import copy
import operator
from typing import Any

import torch
import torch.fx

from suture.op_effects import effects_of, operation_name

_MOST_OPERATIONS = 8
_HOMES = ("torch", "torch.nn.functional", "torch._C._nn", "torch._C._special", "_operator", "math")
_TAKES_APART = (operator.getitem,)


def small(gm: torch.fx.GraphModule) -> torch.fx.GraphModule | None:
    """A copy of a graph that may be run twice, operation by operation; None if it may not, or has
    too many of them."""
    count = 0
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output") or node.target in _TAKES_APART:
            continue
        count += 1
        if count > _MOST_OPERATIONS or not _is_pure(node):
            return None
    if not count:
        return None
    return torch.fx.GraphModule(torch.nn.Module(), copy.copy(gm.graph))


def _is_pure(node: torch.fx.Node) -> bool:
    """Whether it is an operation of torch that gives the same each time and changes nothing."""
    if node.op == "call_method":
        return not effects_of(node).must_run
    if node.op != "call_function":
        return False
    name = operation_name(node)
    home = getattr(node.target, "__module__", None)
    if home is None:  # methods of the C module, which have none
        home = "torch" if getattr(torch, name, None) is node.target else ""
    return home in _HOMES and not name.startswith("_") and not effects_of(node).must_run


def symbolic_inputs(inputs: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The positions of tensors with symbolic sizes among the fake inputs; None if a number is
    symbolic, of which nothing is known when it grows."""
    found = []
    for i, one in enumerate(inputs):
        if isinstance(one, (torch.SymInt, torch.SymFloat)):
            return None
        if isinstance(one, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in one.shape):
            found.append(i)
    return tuple(found)
