"""Where in its memory a tensor begins: views of one base differ in that alone.

No guard looks at it, because operations do not. What a program reads of it is guarded here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.breaks import Break, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Tensor
from suture.runtime.predicates import is_literal
from suture.runtime.reads import offset_of
from suture.torch_private.tensor_parts import (
    is_traceable_wrapper_subclass,
    is_view,
    storage_key,
)


@handles("Tensor.storage_offset")
def _storage_offset(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    with trace.graph.fake:
        found = tensor.value.storage_offset()
    if not is_literal(found):
        return abstract.add_node(trace, "call_method", "storage_offset", [tensor, *args], kwargs)
    for source, example in memory_of(trace, tensor):
        offset = offset_of(example)
        path = f"{source.path()}.storage_offset()"
        if not trace.region.history.same_number(path, offset):
            raise _unknown(tensor)  # Python reads it; what is behind may follow a symbol
        trace.guards.add(source.call(offset_of), "equals", offset)
    return Constant(found)


@handles("Tensor._is_view")
def _is_view(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Guards of tensors do not ask it either, since operations do not."""
    return Constant(guarded_view(trace, tensor))


def guarded_view(trace: Trace, tensor: Tensor) -> bool:
    """Whether a tensor is a view; of an input that is guarded."""
    if tensor.source is None or tensor.example is None:
        return is_view(tensor.value)
    known = is_view(tensor.example)
    trace.guards.add(tensor.source.call(is_view), "equals", known)
    return known


@handles("Tensor.is_set_to")
def _is_set_to(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Which tensors share memory is no fact that a graph has."""
    raise _unknown(tensor)


def _as_strided(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A place in the memory that is counted from its beginning: compilers count from that of the
    tensor they are given, which is the same where it begins at 0."""
    at = _OFFSET_AT.get(target, 3)
    given = args[at] if len(args) > at else kwargs.get("storage_offset")
    if given is None or (given.is_constant() and given.constant() is None):
        return abstract.call_torch(trace, target, args, kwargs)
    if args and isinstance(args[0], Tensor):
        for source, example in memory_of(trace, args[0]):
            if offset_of(example) != 0:
                raise _unknown(args[0])
            trace.guards.add(source.call(offset_of), "equals", 0)
    return abstract.call_torch(trace, target, args, kwargs)


_OFFSET_AT = {torch.as_strided_scatter: 4}
handles("as_strided")(_as_strided)


@handles("Tensor.as_strided")
def _as_strided_method(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return _as_strided(trace, torch.as_strided, [tensor, *args], kwargs)


@handles("Tensor.as_strided_scatter")
def _scatter_method(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return _as_strided(trace, torch.as_strided_scatter, [tensor, *args], kwargs)


def memory_of(trace: Trace, tensor: Tensor) -> list[tuple[Any, torch.Tensor]]:
    """The inputs in whose memory a tensor lies: source and example of each."""
    if is_traceable_wrapper_subclass(tensor.value):
        raise _unknown(tensor)
    storage = storage_key(tensor.value)
    found = []
    for _, variable in trace.outside.known.values():
        if not isinstance(variable, Tensor) or variable.source is None or variable.example is None:
            continue
        if is_traceable_wrapper_subclass(variable.value):
            continue
        if variable is tensor or storage_key(variable.value) == storage:
            found.append((variable.source, variable.example))
    return found


def _unknown(tensor: Tensor) -> Break:
    return Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute="storage")
