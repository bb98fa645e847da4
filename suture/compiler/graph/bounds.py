"""Bounds on the numbers in a tensor that follow from the operations that made it.

`torch.rand` gives numbers in [0, 1), a sum of n truth values lies in [0, n], and so on. Where the
bounds of a comparison leave one outcome, a branch on it is decided while tracing: LayerDrop with
a probability of zero, or a check that lengths counted in a mask are no longer than the mask.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.fx

from suture.torch_private import tensor_parts

Bounds = tuple[float, float]  # the lowest and the highest number there can be
Rule = Callable[[torch.fx.Node, torch.Tensor, int], "Bounds | None"]

_RULES: dict[Any, Rule] = {}
_DEEPEST = 12
_TRUTHS = (0, 1)
_BELOW_ONE = math.nextafter(1.0, 0.0)


def bounds_of(node: torch.fx.Node, left: int = _DEEPEST) -> Bounds | None:
    """What holds for all elements of the tensor a node makes; None if nothing is known, or if it
    was written to. At most `left` operations are looked through."""
    value = node.meta.get("example_value")
    if (
        not isinstance(value, torch.Tensor)
        or value.is_inference()
        or tensor_parts.version_of(value)
    ):
        return None
    rule = _RULES.get(node.target) if left else None
    found = rule(node, value, left - 1) if rule is not None else None
    if found is None and value.dtype is torch.bool:
        return _TRUTHS
    return found


def _rules(*targets: Any) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for target in targets:
            _RULES[target] = rule
        return rule

    return register


def _operand(node: torch.fx.Node, left: int) -> tuple[torch.Tensor, Bounds] | None:
    """The only tensor a node is given, as its first argument, and the bounds of that."""
    base = node.args[0] if node.args else None
    if not isinstance(base, torch.fx.Node) or node.all_input_nodes != [base]:
        return None
    found = bounds_of(base, left)
    return None if found is None else (base.meta["example_value"], found)


@_rules(torch.rand, torch.rand_like)
def _uniform(node: torch.fx.Node, value: torch.Tensor, left: int) -> Bounds | None:
    return (0.0, _BELOW_ONE) if value.is_floating_point() else None


@_rules(
    "max", "min", "amax", "amin", "detach", "clone", "contiguous", "view", "reshape", "flatten",
    "long", "squeeze", "unsqueeze", torch.max, torch.min, torch.amax, torch.amin, torch.clone,
)  # fmt: skip
def _some_of_them(node: torch.fx.Node, value: torch.Tensor, left: int) -> Bounds | None:
    """An operation whose result holds nothing but elements of its operand."""
    given = _operand(node, left)
    if given is None or (given[0].dtype is not value.dtype and node.target != "long"):
        return None
    low, high = given[1]
    return (low, high) if value.is_floating_point() else (math.floor(low), math.ceil(high))


@_rules("sum", torch.sum)
def _count(node: torch.fx.Node, value: torch.Tensor, left: int) -> Bounds | None:
    """A sum of truth values: at most as many as were added for each element of the result."""
    given = _operand(node, left)
    if given is None or given[0].dtype is not torch.bool or value.dtype is not torch.int64:
        return None
    many, few = given[0].numel(), value.numel()
    if type(many) is not int or type(few) is not int:
        return None
    return 0, (many // few if few else 0)


def _comparison(compare: Callable[[Any, Any], bool]) -> Rule:
    """Comparing with a number: decided where all numbers between the bounds agree."""

    def rule(node: torch.fx.Node, value: torch.Tensor, left: int) -> Bounds | None:
        given = _operand(node, left)
        limit = node.args[1] if len(node.args) == 2 else None
        if given is None or type(limit) not in (int, float) or given[0].dtype is torch.bool:
            return None
        if type(limit) is float:
            if not given[0].is_floating_point():
                return None
            limit = torch.tensor(limit, dtype=given[0].dtype).item()  # as torch compares
        low, high = (compare(bound, limit) for bound in given[1])
        return (low, low) if low is high else None

    return rule


for _compare in (operator.lt, operator.le, operator.gt, operator.ge):
    _rules(_compare, _compare.__name__, getattr(torch, _compare.__name__))(_comparison(_compare))
