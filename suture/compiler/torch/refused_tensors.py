"""What a tensor that no graph can hold says of itself: its layout, its dtype, its shape."""

from __future__ import annotations

import torch

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.models import model_named
from suture.compiler.objects import Refused, unsupported_tensors
from suture.compiler.torch.function_modes import modes_see

# Read from the tensor itself, without an operation: a guard asks for the same.
_FACTS = frozenset(
    {
        "layout", "dtype", "device", "ndim", "requires_grad", "itemsize", "is_sparse",
        "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_meta", "is_cpu", "is_cuda",
    }
)  # fmt: skip
# The same as methods without arguments, and the attributes that say it.
_METHODS = {"dim": "ndim", "ndimension": "ndim", "element_size": "itemsize", "size": "shape"}


@implements(unsupported_tensors.fact_of_refused)
def fact_of_refused(trace: Trace, tensor: Refused, name: str) -> Value:
    value = tensor.value
    known = name in _FACTS or (name == "shape" and _has_shape(value))
    if not known or not _is_plain(value) or tensor.source is None or modes_see(trace):
        raise tensor.why()
    return abstract.wrap(trace, getattr(value, name), tensor.source.attr(name))


@implements(unsupported_tensors.method_of_refused)
def method_of_refused(
    trace: Trace, tensor: Refused, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    model = model_named(f"Tensor.{name}") if name.startswith("sparse_resize_") else None
    if model is not None:
        return model(trace, tensor, args, kwargs)
    if name in _METHODS and not args and not kwargs:
        return fact_of_refused(trace, tensor, _METHODS[name])
    if name == "size" and len(args) == 1 and not kwargs and _is_dimension(tensor.value, args[0]):
        return abstract.getitem(trace, fact_of_refused(trace, tensor, "shape"), args[0])
    raise tensor.why()


def _is_dimension(value: object, given: Value) -> bool:
    """Whether size() takes `given`. Its error names the range, where the tuple's does not."""
    if not isinstance(value, torch.Tensor) or not given.is_constant():
        return False
    at = given.constant()
    return type(at) is int and -value.dim() <= at < value.dim()


def _is_plain(value: object) -> bool:
    """Whether no code of the program runs where its attributes are read."""
    return type(value) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def _has_shape(value: object) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_nested
