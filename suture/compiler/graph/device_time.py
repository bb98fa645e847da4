"""Whether a device works longer on some nodes than the processor takes to launch them.

Where it does, what the processor does besides, such as calling a body, is not seen. Where it does
not, each microsecond of the processor's is one of the call's. What is compared are an estimate of
the device's time from below, for the products alone on a fast device, and one of the processor's
from above.
"""

from __future__ import annotations

import math

import torch
import torch.fx

from suture.compiler.graph.fake_values import tree_leaves
from suture.op_kinds import is_contraction, plain_name

# Of a fast device: operations a second of narrow and of wide numbers, bytes a second.
_NARROW, _WIDE, _BYTES = 8e14, 6e13, 4e12
_LAUNCH = 5e-6  # seconds of the processor for an operation
_CALL = 1e-4  # and for a call of a body, with its backward side


def hides_calls(nodes: list[torch.fx.Node]) -> bool:
    """Whether a device that is no processor works on the nodes for longer than it takes to launch
    them, and to call a body that they are. Sizes that are symbols are as they were met."""
    busy = sum(_seconds(node) for node in nodes if is_contraction(node))
    return busy > len(nodes) * _LAUNCH + _CALL


def runs_elsewhere(nodes: list[torch.fx.Node]) -> bool:
    """Whether the nodes compute on another device than the processor."""
    tensors = [one for node in nodes for one in _tensors(node)]
    return any(one.device.type not in ("cpu", "meta") for one in tensors)


def _seconds(node: torch.fx.Node) -> float:
    given = [one for source in node.all_input_nodes for one in _tensors(source)]
    made = _tensors(node)
    if not given or not made:
        return 0.0
    moved = sum(_numel(one) * one.element_size() for one in given + made)
    narrow = made[0].element_size() <= 2 or torch.backends.cuda.matmul.allow_tf32
    return max(_products(node, given, made[0]) / (_NARROW if narrow else _WIDE), moved / _BYTES)


def _products(node: torch.fx.Node, given: list[torch.Tensor], made: torch.Tensor) -> float:
    """Multiplications and additions: of (m, k) and (k, n) to (m, n), and of attention."""
    factors = [one for one in given if one.dim() > 1][-2:]
    if len(factors) < 2:
        return 0.0
    if plain_name(node) == "scaled_dot_product_attention":
        return 4.0 * _numel(made) * _hint(factors[-1].shape[-2])
    batch = math.prod(map(_hint, made.shape[:-2])) if factors[-1].dim() > 2 else 1
    one, two = map(_numel, factors)
    return 2.0 * math.sqrt(one * two * _numel(made) / max(batch, 1))


def _tensors(node: torch.fx.Node) -> list[torch.Tensor]:
    leaves = tree_leaves(node.meta.get("example_value"))
    return [one for one in leaves if isinstance(one, torch.Tensor)]


def _numel(tensor: torch.Tensor) -> int:
    return math.prod(map(_hint, tensor.shape))


def _hint(size: int | torch.SymInt) -> int:
    if isinstance(size, int):
        return size
    return int(size.node.hint) if size.node.has_hint() else 1
