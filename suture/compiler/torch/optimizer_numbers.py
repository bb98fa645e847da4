"""Python numbers that optimizers take out of a tensor: how many steps there were, and what is
computed from that.

While compiling, torch's optimizers compute with the tensor instead, which is of float32: `1 - beta
** step` then rounds as floats of Python do not. Here such a number is a tensor of float64 without
dimensions, which computes as Python's floats do and, next to another tensor, counts as a Python
number counts: it never decides the dtype of the result.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import List, Tensor
from suture.compiler.objects.tensor import known_tensor
from suture.torch_private import operators


@handles(operators.optimizer_number)
def _number(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The number in a tensor of a CPU; what is in another device's stays as precise as it is, as
    eager mode keeps it there."""
    (given,) = args if not kwargs else kwargs.values()
    if not isinstance(given, Tensor) or not _holds_number(given.value):
        return given
    wide = abstract.add_node(trace, "call_method", "to", [given, _float64(trace)], {})
    made = known_tensor(wide)
    trace.graph.numbers.add(made.node)
    return made


def _float64(trace: Trace) -> Value:
    return abstract.known(trace, torch.float64)


def _holds_number(value: torch.Tensor) -> bool:
    real = value.dtype.is_floating_point or value.dtype is torch.int64
    return real and value.dim() == 0 and value.device.type == "cpu" and not value.requires_grad


def beside_tensors(trace: Trace, args: list[Value]) -> list[Any]:
    """The arguments of an operation, with numbers that would widen a result cast to the dtype of
    the tensor beside them: in the arguments, or in lists of them, each beside its like."""
    if args and all(isinstance(a, List) for a in args):
        rows = list(zip(*(abstract.unpack(trace, a) for a in args)))
        changed = [_beside(trace, list(row)) for row in rows]
        return (
            [List(column) for column in zip(*changed)]
            if any(map(_differs, rows, changed))
            else args
        )
    return _beside(trace, args)


def _differs(row: Any, changed: Any) -> bool:
    return any(a is not b for a, b in zip(row, changed))


def _beside(trace: Trace, args: list[Value]) -> list[Any]:
    """Only a tensor without dimensions lets another one of them widen the result."""
    numbers = trace.graph.numbers
    tensors = [a for a in args if isinstance(a, Tensor)]
    beside = [a for a in tensors if a.node not in numbers]
    if not beside or len(beside) == len(tensors) or any(a.value.dim() for a in beside):
        return args
    dtype = beside[0].value.dtype
    if not dtype.is_floating_point:
        return args
    return [
        abstract.add_node(trace, "call_method", "to", [a, abstract.known(trace, dtype)], {})
        if isinstance(a, Tensor) and a.node in numbers
        else a
        for a in args
    ]


def note_number(trace: Trace, args: list[Value], result: object) -> None:
    """Take what was computed from such numbers alone for one."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    numbers = trace.graph.numbers
    if isinstance(result, Tensor) and tensors and all(a.node in numbers for a in tensors):
        if result.value.dtype is torch.float64 and result.value.dim() == 0:
            numbers.add(result.node)
