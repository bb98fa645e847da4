"""Graphs of a few operations that change nothing: they may be run as they are, and twice."""

from __future__ import annotations

import copy
import operator
from typing import Any

import torch
import torch.fx

_MOST_OPERATIONS = 8
_HOMES = ("torch", "torch.nn.functional", "torch._C._nn", "torch._C._special", "_operator", "math")
_IMPURE = frozenset(
    {
        "rand",
        "randn",
        "randint",
        "randperm",
        "bernoulli",
        "multinomial",
        "normal",
        "rand_like",
        "randn_like",
        "randint_like",
        "poisson",
        "dropout",
        "alpha_dropout",
        "feature_dropout",
        "feature_alpha_dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "rrelu",
        "gumbel_softmax",
        "native_dropout",
        "seed",
        "manual_seed",
        "set_rng_state",
        "setitem",
        "delitem",
        "batch_norm",
        "instance_norm",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
    }
)
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
        name = str(node.target)
        return not name.endswith("_") and name not in _IMPURE
    if node.op != "call_function" or "out" in node.kwargs or node.kwargs.get("inplace"):
        return False
    name = getattr(node.target, "__name__", "")
    home = getattr(node.target, "__module__", None)
    if home is None:  # methods of the C module, which have none
        home = "torch" if getattr(torch, name, None) is node.target else ""
    if home not in _HOMES or name in _IMPURE or name.startswith("_") or name.endswith("_"):
        return False
    return not (home == "_operator" and name[:1] == "i" and hasattr(operator, f"__{name}__"))


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
