"""Tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value
from suture.runtime.sources import Source


@declared
def add_node(
    trace: Trace, op: str, target: object, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """One node of the graph, and the value of its result: a tensor, a symbol, or a container of
    them. `op` and `target` as in torch.fx."""


@declared
def base_tensor_attribute(trace: Trace, tensor: Value, base: type, name: str) -> Value:
    """`super().name` of a tensor, where torch's own classes define it."""


@declared
def call_torch(trace: Trace, target: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One node that calls `target`."""


@declared
def device_block(trace: Trace, device: Value, name: str) -> Value:
    """`__enter__` or `__exit__` of a torch.device, as torch has them in C."""


@declared
def fake_input(trace: Trace, value: torch.Tensor, source: Source, dims: object) -> torch.Tensor:
    """The fake tensor of a real one read at `source`; `dims` says which sizes are symbols."""


@declared
def fake_result(
    trace: Trace, op: str, target: object, args: list[Value], kwargs: dict[str, Value]
) -> Any:
    """What a node would give, on fake tensors; nothing is added to the graph."""


@declared
def guard_setting(trace: Trace, read: Callable[[], Any]) -> None:
    """A setting of torch was read: it is the same where the region starts."""


@declared
def fold_torch(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a function whose result is a fact, of tensors or of torch's settings."""


@declared
def from_value(
    trace: Trace, node: torch.fx.Node, value: object, given: Iterable[Any] = ()
) -> Value:
    """The value of what a node gives, of its fake result. Of the values in `given`, tensors that
    come back are the same objects."""


@declared
def graph_binary(trace: Trace, name: str, left: Value, right: Value) -> Value | None:
    """An operator as a node, or None if an operand does not belong in a graph."""


@declared
def graph_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Value | None:
    """A comparison as a node, or None if an operand does not belong in a graph."""


@declared
def guard_history(trace: Trace, tensor: Value) -> None:
    """Whether an input is a leaf of autograd, and keeps its gradient, is guarded from here."""


@declared
def is_tensor(trace: Trace, variable: object) -> bool:
    """Whether the value is a tensor of the graph."""


@declared
def proxy(trace: Trace, variable: object) -> Any:
    """A value as an argument of a node."""


@declared
def refuse_tensor(trace: Trace, value: torch.Tensor, source: Source, kind: type) -> None:
    """Break if a tensor of this class and layout cannot be an input of a graph."""


@declared
def tensor_length(trace: Trace, tensor: Value) -> Value:
    """`len(tensor)`: its first size, a constant or a symbol; TypeError of the program for none."""


@declared
def tensor_descriptor(
    trace: Trace, real: Any, tensor: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method descriptor of the tensor's class that is called with the tensor."""


@declared
def tensor_method(
    trace: Trace, tensor: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a tensor: known at once, or a node."""


@declared
def tensor_node(
    trace: Trace, tensor: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a tensor as one node."""


@declared
def tensor_rows(trace: Trace, tensor: Value) -> list[Any]:
    """The elements of a tensor along its first dimension, as iteration gives them."""


@declared
def tensor_shape(trace: Trace, tensor: Value) -> Any:
    """The sizes of a tensor as a torch.Size value; those that are symbols stay symbols."""


@declared
def tensor_to_number(trace: Trace, tensor: Value, method: str) -> Value:
    """`.item()`, `int()`, `float()`, `bool()`: a symbolic number, where torch can make one."""


@declared
def torch_attribute(trace: Trace, tensor: Value, name: str) -> Value:
    """An attribute as torch.Tensor has it, whatever the class of the tensor says."""


@declared
def wrap_tensor(trace: Trace, value: torch.Tensor, source: Source) -> Value:
    """A tensor that comes from outside becomes an input of the graph."""
