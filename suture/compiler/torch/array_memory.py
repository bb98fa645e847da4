"""Whose memory a change of an array is a change of.

An array that the region made has memory of its own. Memory from outside is written through the
tensor over it, which is an input of the graph: a graph knows which of its inputs share memory only
if they are views of one tensor, so the memory of an array from outside must lie apart from that of
every other input, which is guarded. Where it does not, or may not be written, Python makes the
change.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from suture.breaks import Break, arrays
from suture.compiler.abstract import implements
from suture.compiler.core import Trace
from suture.compiler.graph import arrays as nodes
from suture.compiler.graph.builder import GraphInput
from suture.compiler.objects import List, Tensor, Tuple, array
from suture.compiler.objects.array import Array
from suture.runtime.predicates import formula, is_writeable
from suture.runtime.reads import first_byte, last_byte, tensor_over
from suture.runtime.sources import Source
from suture.torch_private import tensor_parts

_APART = formula("n1 < n2 or n3 < n0", 4)
# NumPy gives views that may not be written, and torch a view or a copy that may
_READ_ONLY = frozenset({"broadcast_to", "broadcast_arrays", "diagonal"})
# NumPy gives views, and torch copies
_COPIED = frozenset({"flip", "fliplr", "flipud", "rot90", "diag"})


def write_array(trace: Trace, changed: Array, name: str) -> None:
    """Note that `name` changes an array in place. Break, before anything has changed, where Python
    has to do it."""
    refused = Break(arrays.ARRAY_METHOD, method=name)
    storage = tensor_parts.storage_key(changed.tensor.value)
    if _other_view(changed.tensor.node, storage) is not None or any(
        _is_copy(node) and _shows(node.args, storage) for node in trace.graph.graph.nodes
    ):
        raise refused
    tensors = [
        entry
        for entry in trace.graph.inputs
        if not entry.made and isinstance(entry.node.meta["val"], torch.Tensor)
    ]
    written = [e for e in tensors if tensor_parts.storage_key(e.node.meta["val"]) == storage]
    if not written or not any(entry.convert is tensor_over for entry in tensors):
        trace.numbers.arrays_written += written
        return
    if name == "resize" or not all(_may_be_written(entry) for entry in written):
        raise refused
    others = [entry for entry in tensors if entry not in written]
    pairs = [
        (one, other) for one in written for other in others if tensor_over in _converts(one, other)
    ]
    if not all(_lie_apart(one.example, other.example) for one, other in pairs):
        raise refused
    for entry in written:
        if entry.convert is tensor_over:
            trace.guards.add(entry.source, "truth", is_writeable)
    for one, other in pairs:
        _guard_apart(trace, one.source, other.source)
    trace.numbers.arrays_written += written


def meets_written(trace: Trace, value: torch.Tensor, source: Source, is_array: bool) -> bool:
    """Whether an input that the region has not read yet may lie in memory that it has written;
    if not, that is guarded."""
    written = trace.numbers.arrays_written
    if not is_array:
        written = [entry for entry in written if entry.convert is tensor_over]
    if not all(_lie_apart(entry.example, value) for entry in written):
        return True
    for entry in written:
        _guard_apart(trace, entry.source, source)
    return False


def note_position(made: Any, position: Any) -> None:
    """Remember which instruction made an array, should NumPy have to."""
    if isinstance(made, Tensor):
        made.node.meta.setdefault("position", position)
    for part in made.items if isinstance(made, (List, Tuple)) else ():
        if isinstance(part, Tensor):  # an item of what the node gives
            part.node.all_input_nodes[0].meta.setdefault("position", position)


@implements(array.left_to_numpy)
def left_to_numpy(tensor: Tensor) -> Any:
    found = _other_view(tensor.node, tensor_parts.storage_key(tensor.value))
    return None if found is None else found.meta["position"]


def _converts(*entries: GraphInput) -> tuple[Any, ...]:
    return tuple(entry.convert for entry in entries)


def _may_be_written(entry: GraphInput) -> bool:
    """Whether an input has memory that can be written; the array over it says so."""
    if (
        entry.source is None
        or entry.made
        or tensor_parts.is_traceable_wrapper_subclass(entry.example)
    ):
        return False
    return entry.convert is not tensor_over or entry.node.meta.get("writeable", False)


def _lie_apart(one: torch.Tensor, other: torch.Tensor) -> bool:
    if tensor_parts.is_traceable_wrapper_subclass(other):
        return False
    return bool(_APART(first_byte(one), last_byte(one), first_byte(other), last_byte(other)))


def _guard_apart(trace: Trace, one: Source | None, other: Source | None) -> None:
    assert one is not None  # one that the variant makes was refused
    assert other is not None
    ends = (first_byte, last_byte)
    numbers = tuple((source.call(end), "int", 0) for source in (one, other) for end in ends)
    text = f"{one.path()} and {other.path()} share no memory"
    trace.guards.add(None, "expr_py", (numbers, _APART, text))


def _other_view(node: torch.fx.Node, storage: int) -> torch.fx.Node | None:
    """What made an array, or what it is a view of, that NumPy gives as another view: one that may
    not be written, or where torch copies."""
    while True:
        if _called(node) in _READ_ONLY or _is_copy(node):
            return node
        above = [n for n in node.all_input_nodes if _shows(n, storage)]
        if not above:
            return None
        node = above[0]


def _is_copy(node: torch.fx.Node) -> bool:
    """Whether torch made a copy where NumPy gives a view."""
    if _called(node) in _COPIED:
        return True
    keys = node.args[2:] if _called(node) == "getitem" else ()
    keys = keys[0] if keys and isinstance(keys[0], tuple) else keys
    return any(isinstance(k, slice) and isinstance(k.step, int) and k.step < 0 for k in keys)


def _called(node: torch.fx.Node) -> str:
    """How NumPy calls what a node does."""
    if node.target in (nodes.array_function, nodes.array_operator):
        return str(node.args[0])
    return str(node.args[1]) if node.target is nodes.array_method else ""


def _shows(value: Any, storage: int) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_shows(v, storage) for v in value)
    shown = value.meta.get("example_value") if isinstance(value, torch.fx.Node) else value
    if isinstance(shown, (tuple, list)):
        return _shows(shown, storage)
    return isinstance(shown, torch.Tensor) and tensor_parts.storage_key(shown) == storage
