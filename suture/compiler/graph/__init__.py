"""The torch.fx graph under construction.

`GraphBuilder` adds one node per operation, runs the operation on fake tensors to learn its
result, and keeps the list of inputs with their sources.
"""

from suture.compiler.graph.addresses import guard_beginnings, keeps_address
from suture.compiler.graph.asserts import has_asserts, is_scalar, put_asserts
from suture.compiler.graph.builder import GraphBuilder, GraphInput, OpFailed
from suture.compiler.graph.current_values import current_number
from suture.compiler.graph.outline import Repeated, Wanted, copied, outlined
from suture.compiler.graph.repeats import is_repeatable, is_safe_after, writes_after
from suture.compiler.graph.spans import Span
from suture.compiler.graph.undo import undoable, writes_own_memory_only
from suture.torch_private.graph_modules import forget_source
from suture.torch_private.symbolic_shapes import sizes_from_zero

__all__ = [
    "GraphBuilder",
    "GraphInput",
    "OpFailed",
    "Repeated",
    "Span",
    "Wanted",
    "copied",
    "current_number",
    "forget_source",
    "guard_beginnings",
    "has_asserts",
    "is_repeatable",
    "is_safe_after",
    "is_scalar",
    "keeps_address",
    "outlined",
    "put_asserts",
    "sizes_from_zero",
    "undoable",
    "writes_after",
    "writes_own_memory_only",
]
