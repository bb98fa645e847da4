"""Regions that end where the program sets a hook on a tensor that they have computed.

A compiled graph is one node of autograd, with an output for each tensor. When another of its
outputs is differentiated, the engine passes that node and calls the hook too, without a gradient.
In eager mode it would not come by, unless one of the two tensors was computed from the other.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.fx

from suture.breaks import autograd


def hooks_one_of_several(reason: Any, module: torch.fx.GraphModule) -> bool:
    """Whether a region ends for the `reason` that a hook is set, and of its results there are two
    with histories of their own: neither was computed from the other."""
    if reason is None or reason.type is not autograd.TENSOR_HOOK:
        return False
    made = next(node for node in module.graph.nodes if node.op == "output").all_input_nodes
    values = (node.meta.get("example_value", node.meta.get("val")) for node in made)
    ends = {v.grad_fn for v in values if isinstance(v, torch.Tensor)} - {None}
    above = {end: _above(end) for end in ends}
    return any(a not in above[b] and b not in above[a] for a, b in itertools.combinations(ends, 2))


def _above(end: Any) -> set[Any]:
    """The nodes of autograd that a tensor was computed by."""
    seen: set[Any] = set()
    work = [end]
    while work:
        at = work.pop()
        if at is not None and at not in seen:
            seen.add(at)
            work += [above for above, _ in at.next_functions]
    return seen
