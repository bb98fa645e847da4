"""Subclasses of torch.Tensor and `__torch_function__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def call_override(
    trace: Trace, real: object, fn: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of a torch function that an argument takes over; None if none does."""


@declared
def field_override(trace: Trace, tensor: Value, name: str, *value: Value) -> Value | None:
    """Reading (or, with a value, setting) a field that torch.Tensor has, where the class of
    the tensor takes it over; None if not."""


@declared
def guard_functions(trace: Trace) -> None:
    """Require that `__torch_function__` is on or off at the start of the region as it is now."""


@declared
def make_tensor_instance(
    trace: Trace, cls: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """What calling a class of tensors does: __new__, then __init__."""


@declared
def meet_subclass(trace: Trace, kind: type | None = None) -> None:
    """A tensor was met whose class may take part in operations. What the compiler itself reads of
    it, and does with fake tensors, calls no override."""


@declared
def operator_override(trace: Trace, name: str, *operands: object) -> Value | None:
    """An operator that an operand takes over; None if none does. The operator itself tells,
    on a tensor that records it, which function it passes."""


@declared
def own_operator(trace: Trace, name: str, *operands: object) -> Value | None:
    """An operator that the class of an operand defines itself, or takes over with
    `__torch_function__`; None if none does."""


@declared
def refuse_in_graph(
    trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]
) -> None:
    """A function of the program that is a node sees plain tensors when the graph runs: those
    of a class that has a say in operations are not given to it."""


@declared
def set_in_class(trace: Trace, tensor: Value, name: str, value: Value) -> bool:
    """Whether the class of a tensor sets the attribute itself, by a property."""


@declared
def slot_attribute(trace: Trace, tensor: Value, name: str) -> Value:
    """An attribute that the class of a tensor has a slot for."""


@declared
def special_methods(trace: Trace, name: str, *operands: object) -> Value | None:
    """An operator as Python does it, where the class of a tensor defines it itself."""


@declared
def special_override(trace: Trace, tensor: Value, method: str, args: list[Value]) -> Value | None:
    """A special method (`__len__`, `__getitem__`) that the class of a tensor defines, or that
    `__torch_function__` takes over; None if neither."""


@declared
def with_functions(trace: Trace, on: bool, call: Callable[[], Any]) -> Value:
    """The result of `call`, with the switch so."""
