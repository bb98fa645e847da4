"""`tensor.untyped_storage()`: the memory behind a tensor, of which programs ask the size."""

from __future__ import annotations

from collections.abc import Hashable

import torch

from suture.breaks import Break, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Tensor
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.methods import find_method, method
from suture.compiler.torch.offsets import memory_of
from suture.runtime.reads import bytes_behind
from suture.torch_private.tensor_parts import storage_key


class Storage(Value):
    """The memory of a tensor. Python makes the object where it is needed: one for all views."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(None)
        self.tensor = tensor

    def python_type(self) -> type:
        return torch.UntypedStorage

    def describe(self) -> str:
        return f"{self.tensor.describe()}.untyped_storage()"

    def identity(self) -> Hashable:
        return (Storage, storage_key(self.tensor.value))

    def getattr(self, trace: Trace, name: str) -> Value:
        if callable(getattr(torch.UntypedStorage, name, None)):
            return BoundMethod(self, name)
        raise _unknown(self.tensor)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        own = find_method(Storage, name)
        if own is None:
            raise _unknown(self.tensor)
        return abstract.builtin_method(trace, own, self, name, args, kwargs)

    def truth(self, trace: Trace) -> bool | None:
        return bool(_size(self, trace).constant())

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.tensor)}.untyped_storage()"


def _unknown(tensor: Tensor) -> Break:
    return Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute="storage")


@method(Storage, "size", "nbytes", "__len__")
def _size(self: Storage, trace: Trace) -> Constant:
    """How many bytes there are: read of inputs, and guarded. What a backend allocates for results
    is its own business."""
    found = memory_of(trace, self.tensor)
    if not found:
        raise _unknown(self.tensor)
    for source, example in found:
        size = bytes_behind(example)
        path = f"{source.path()}.untyped_storage().size()"
        if not trace.region.history.same_number(path, size):
            raise _unknown(self.tensor)
        trace.guards.add(source.call(bytes_behind), "equals", size)
    return Constant(bytes_behind(found[0][1]))


@handles("Tensor.untyped_storage")
def _storage(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    plain = type(tensor) is Tensor and tensor.cls in (torch.Tensor, torch.nn.Parameter)
    if args or kwargs or not plain or tensor.value.is_sparse:
        raise _unknown(tensor)
    return Storage(tensor)
