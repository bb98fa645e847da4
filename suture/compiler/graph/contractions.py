"""Operations that a backend runs as kernels of their own: products of matrices, convolutions,
attention, recurrent layers, operators that it does not know.

What lies between them it fuses, over the borders of the functions that a program is written in.
"""

from __future__ import annotations

import torch.fx

from suture.op_effects import operation_name
from suture.torch_private import operators

_NAMES = frozenset({
    "addbmm", "addmm", "addmv", "baddbmm", "bilinear", "bmm", "chain_matmul", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "einsum",
    "gru", "inner", "linear", "lstm", "matmul", "mm", "multi_dot", "multi_head_attention_forward",
    "mv", "rnn_relu", "rnn_tanh", "scaled_dot_product_attention", "tensordot", "vecdot",
    "__matmul__", "__rmatmul__",
})  # fmt: skip
_FUSED = ("aten", "prims", "prim")  # namespaces of operators that a backend sees through


def is_contraction(node: torch.fx.Node) -> bool:
    """Whether the node is such an operation."""
    target = node.target
    if isinstance(target, (operators.OpOverload, operators.OpOverloadPacket)):
        space, _, name = str(target).partition(".")
        return space not in _FUSED or name.partition(".")[0].lstrip("_") in _NAMES
    return node.op in ("call_function", "call_method") and operation_name(node) in _NAMES
