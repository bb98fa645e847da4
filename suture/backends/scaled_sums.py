"""Sums with a factor, `x.add(y, alpha=k)`, as a product and a sum.

Where one side is a product of matrices, Inductor of torch before 2.15 makes one operation of the
two and forgets the factor. Written as two nothing is lost: it fuses them again.
"""

from __future__ import annotations

import torch
import torch.fx

from suture.op_kinds import is_sum
from suture.torch_private import releases
from suture.torch_private.graph_modules import fake_value


def without_factors(module: torch.fx.GraphModule) -> None:
    """Rewrite such sums of a graph, and of graphs in it, where Inductor would forget a factor."""
    if not releases.forgets_factors():
        return
    for inner in module.modules():
        if isinstance(inner, torch.fx.GraphModule):
            scaled = [node for node in inner.graph.nodes if _is_scaled_sum(node)]
            for node in scaled:
                _rewrite(node)
            if scaled:
                inner.recompile()


def _is_scaled_sum(node: torch.fx.Node) -> bool:
    if not is_sum(node) or "alpha" not in node.kwargs:
        return False
    both = [fake_value(a) for a in node.args if isinstance(a, torch.fx.Node)]
    return (
        len(both) == 2
        and all(isinstance(value, torch.Tensor) for value in both)
        and both[0].dtype == both[1].dtype
        and both[0].dtype.is_floating_point
    )


def _rewrite(node: torch.fx.Node) -> None:
    factor = node.kwargs["alpha"]
    with node.graph.inserting_before(node):
        scaled = node.graph.call_function(torch.mul, (node.args[1], factor))
    scaled.meta = {k: v for k, v in node.meta.items() if k in ("stack_trace", "nn_module_stack")}
    node.args = (node.args[0], scaled)
    node.kwargs = {k: v for k, v in node.kwargs.items() if k != "alpha"}
