"""Tensors."""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value
from suture.runtime.sources import Source


@declared
def add_node(
    trace: Trace, op: str, target: object, args: list[Any], kwargs: dict[str, Any]
) -> Any: ...


@declared
def base_tensor_attribute(trace: Trace, tensor: Value, base: type, name: str) -> Value:
    """`super().name` of a tensor, where torch's own classes define it."""


@declared
def call_torch(trace: Trace, target: object, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """One node that calls `target`."""


@declared
def device_block(trace: Trace, device: torch.device, name: str) -> Value:
    """`__enter__` or `__exit__` of a torch.device, as torch has them in C."""


@declared
def fake_input(
    trace: Trace, value: torch.Tensor, source: Source | None, dims: object
) -> torch.Tensor: ...


@declared
def fake_result(
    trace: Trace, op: str, target: object, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """What a node would give, on fake tensors; nothing is added to the graph."""


@declared
def fold_torch(trace: Trace, real: object, args: list[Any], kwargs: dict[str, Any]) -> Value:
    """Call a function whose result is a fact, of tensors or of torch's settings."""


@declared
def from_value(trace: Trace, node: torch.fx.Node, value: object) -> Any: ...


@declared
def graph_binary(trace: Trace, name: str, left: Value, right: Value) -> Value | None:
    """An operator as a node, or None if an operand does not belong in a graph."""


@declared
def graph_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Value | None: ...


@declared
def guard_history(trace: Trace, tensor: Value) -> None:
    """Whether an input is a leaf of autograd, and keeps its gradient, is guarded from here."""


@declared
def is_tensor(trace: Trace, variable: object) -> bool: ...


@declared
def method_of_refused(
    trace: Trace, tensor: Value, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value:
    """A method of a tensor that is no value of the graph: some have a break of their own."""


@declared
def proxy(trace: Trace, variable: object) -> Any:
    """A variable as an argument of a node."""


@declared
def refuse_tensor(trace: Trace, value: torch.Tensor, source: Source | None, kind: type) -> None: ...


@declared
def current_truth(trace: Trace, condition: Value) -> bool | None:
    """The truth of a condition that hangs on nothing but what modules keep, as it is now; None
    if it hangs on more."""


@declared
def tensor_attribute(trace: Trace, tensor: Value, name: str) -> Value: ...


@declared
def tensor_contains(trace: Trace, tensor: Value, item: object) -> Value: ...


@declared
def tensor_getitem(trace: Trace, tensor: Value, key: Value) -> Value: ...


@declared
def tensor_length(trace: Trace, tensor: Value) -> Value: ...


@declared
def tensor_method(
    trace: Trace, tensor: Value, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value:
    """A method of a tensor: known at once, or a node."""


@declared
def tensor_node(
    trace: Trace, tensor: Value, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value: ...


@declared
def tensor_rows(trace: Trace, tensor: Value) -> list[Any]:
    """The elements of a tensor along its first dimension, as iteration gives them."""


@declared
def tensor_set_attribute(trace: Trace, tensor: Value, name: str, value: Value) -> None: ...


@declared
def tensor_setitem(trace: Trace, tensor: Value, key: Value, value: Value) -> None: ...


@declared
def tensor_shape(trace: Trace, tensor: Value) -> Any: ...


@declared
def tensor_to_number(trace: Trace, tensor: Value, method: str) -> Value | None:
    """`.item()` and its kin: a symbolic number, where torch can make one."""


@declared
def torch_attribute(trace: Trace, tensor: Value, name: str) -> Value:
    """An attribute as torch.Tensor has it, whatever the class of the tensor says."""


@declared
def truth_from_data(trace: Trace, tensor: Value) -> Value | None:
    """The truth of a tensor as a symbol, for a graph that must be whole; None if it cannot be.
    A branch on it is a break all the same."""


@declared
def wrap_tensor(trace: Trace, value: torch.Tensor, source: Source | None) -> Value:
    """A tensor that comes from outside becomes an input of the graph."""
