"""`tensor.data = other`: the tensor gets other memory, and autograd is not told.

The object stays, and so does its place in autograd's graph: what changes is the memory that it
shows. In the graph the name of the tensor means the new memory from there on, seen as a tensor with
the same history; the tensor itself, where it comes from outside, gets its memory when the region
ends. Tensors that show the old memory are other nodes and keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from suture.breaks import Break
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Tensor
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.objects.tensor_parameter import RenewedTensor
from suture.compiler.torch.subclasses import PLAIN
from suture.op_effects import written_by
from suture.torch_private import autograd_parts, tensor_parts


class _Renewed(torch.autograd.Function):
    """New memory behind a tensor that requires grad: the numbers of one, the history of another."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, data: torch.Tensor) -> Any:
        return autograd_parts.data_of(data)  # no view for autograd, as in eager

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0], None


def renewed(tensor: torch.Tensor, data: torch.Tensor) -> Any:
    """`tensor` as it is after `tensor.data = data`. A node of graphs."""
    with torch.enable_grad():
        return _Renewed.apply(tensor, data)  # type: ignore[no-untyped-call]


@dataclass(slots=True, eq=False)
class _Unwritten:
    """A leaf whose memory is new. In the graph it is no leaf, so that what autograd says of a leaf
    that is written in place is not said: nothing may write it. `stop` is how to end before."""

    node: torch.fx.Node
    storage: int
    stop: tuple[int, Any]

    def is_seen(self) -> bool:
        node = self.node.next
        while node.op != "root":
            if any(self._shows(written) for written in written_by(node)):
                return True
            node = node.next
        return False

    def _shows(self, written: torch.fx.Node) -> bool:
        value = written.meta.get("example_value")
        plain = isinstance(value, torch.Tensor) and value.requires_grad
        return plain and tensor_parts.storage_key(value) == self.storage


def set_data(trace: Trace, tensor: Tensor, value: Value, refused: Break) -> None:
    """`tensor.data = value`. Break if Python has to do it."""
    if not isinstance(value, Tensor) or not _takes(trace, tensor, value):
        raise refused
    if tensor.source is None:
        data = known_tensor(abstract.call_torch(trace, autograd_parts.data_of, [value], {}))
        tensor.node, tensor.value = data.node, data.value
        return
    wants = bool(tensor.value.requires_grad)
    if wants:
        abstract.guard_history(trace, tensor)
    stop = trace.progress.step, abstract.exit_at(trace, refused) if wants else None
    data = known_tensor(abstract.call_torch(trace, autograd_parts.data_of, [value], {}))
    shown = data
    if wants:
        shown = known_tensor(abstract.add_node(trace, "call_function", renewed, [tensor, data], {}))
        storage = tensor_parts.storage_key(shown.value)
        trace.copied.append(_Unwritten(shown.node, storage, stop))
    trace.effects.touch(tensor)
    tensor.attrs = {**(tensor.attrs or {}), "data": data}
    tensor.__class__ = RenewedTensor
    tensor.node, tensor.value = shown.node, shown.value


def _takes(trace: Trace, tensor: Tensor, data: Tensor) -> bool:
    """Whether both are plain tensors of one kind, and the first is a leaf that the region did not
    make, or one without history that it did."""
    if type(tensor) not in (Tensor, RenewedTensor) or len(trace.graph.levels.stack) > 1:
        return False
    old, new = tensor.value, data.value
    plain = all(
        t.cls in PLAIN and t.value.layout is torch.strided and not t.value.is_inference()
        for t in (tensor, data)
    )
    if not plain or old.device != new.device:
        return False
    if tensor.source is None:
        return tensor.cls is torch.Tensor and not old.requires_grad
    if not old.requires_grad:
        return True
    leaf = tensor.example is not None and tensor.example.is_leaf
    return leaf and tuple(old.shape) == tuple(new.shape)
