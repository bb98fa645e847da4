"""Operations that a backend runs as kernels of their own: products of matrices, convolutions,
attention, recurrent layers, operators that it does not know.

What lies between them it fuses, over the borders of the functions that a program is written in.
"""

from __future__ import annotations

import torch.fx

from suture.op_kinds import CONTRACTING, CONVOLVING, plain_name
from suture.torch_private import operators

_FUSED = ("aten", "prims", "prim")  # namespaces of operators that a backend sees through


def is_contraction(node: torch.fx.Node) -> bool:
    """Whether the node is such an operation."""
    target = node.target
    if isinstance(target, (operators.OpOverload, operators.OpOverloadPacket)):
        if str(target).partition(".")[0] not in _FUSED:
            return True
    return node.op in ("call_function", "call_method") and plain_name(node) in CONTRACTING


def is_convolution(node: torch.fx.Node) -> bool:
    """Whether the node is a convolution, for which a backend orders elements in another way."""
    return node.op in ("call_function", "call_method") and plain_name(node) in CONVOLVING
