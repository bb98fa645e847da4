"""From tensors to arrays over the same memory, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Tensor
from suture.compiler.objects.array import Array
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.objects.tensor import known_tensor
from suture.torch_private import autograd_parts


@handles("Tensor.numpy")
def _to_numpy(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """With `force`, also of a tensor that requires grad: what is more than that is Python's."""
    value = tensor.value
    forced = set(kwargs) == {"force"} and abstract.truth(trace, kwargs["force"])
    plain = not args and not set(kwargs) - {"force"} and value.device.type == "cpu"
    plain = plain and (forced or not value.requires_grad)
    odd = value.dtype in (torch.bfloat16, torch.complex32) or value.is_conj() or value.is_neg()
    if not plain or odd:
        raise Break(calls.C_FUNCTION, function="Tensor.numpy")
    return Array(same_memory(trace, tensor), is_view=True)


@handles("from_numpy")
def _from_numpy(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if len(args) == 1 and isinstance(args[0], Array) and not args[0].is_scalar:
        return same_memory(trace, args[0].tensor)
    raise Break(calls.C_FUNCTION, function="torch.from_numpy")


def same_memory(trace: Trace, tensor: Value) -> Tensor:
    """A tensor over the same memory whose writes autograd does not count, as NumPy's are not: what
    it has saved of `tensor` may change before a backward pass."""
    data = autograd_parts.data_of
    return known_tensor(abstract.add_node(trace, "call_function", data, [tensor], {}))


def with_arrays(trace: Trace, value: Value) -> Value:
    """A list with arrays in place of its tensors: NumPy asks each for its array."""
    if not is_list_or_tuple(value):
        return value
    items = [
        abstract.tensor_method(trace, i, "numpy", [], {})
        if isinstance(i, Tensor)
        else with_arrays(trace, i)
        for i in abstract.unpack(trace, value)
    ]
    return value.made_like(items)


def is_scalar_alone(args: list[Value]) -> bool:
    """Whether there is one argument, a scalar of NumPy that the graph computes."""
    found = args[0] if len(args) == 1 else None
    return isinstance(found, Array) and found.is_scalar and found.number is None


def holds_scalar(trace: Trace, values: Sequence[Value]) -> bool:
    """Whether a known scalar of NumPy is in one of these lists and tuples, at any depth."""
    return any(
        is_list_or_tuple(value)
        and (
            any(map(_is_scalar, value.unpacked(trace)))
            or holds_scalar(trace, value.unpacked(trace))
        )
        for value in values
    )


def _is_scalar(value: Value) -> bool:
    import numpy

    return isinstance(value, Constant) and isinstance(value.value, numpy.generic)


def array_of_scalar(trace: Trace, scalar: Any) -> Value:
    """numpy.array(scalar): an array without dimensions, with its own memory."""
    made = known_tensor(abstract.add_node(trace, "call_method", "clone", [scalar.tensor], {}))
    return Array(made, is_view=True)
