"""Python's operations on tensors and symbols: length, iteration, membership, truth, conversion."""

from __future__ import annotations

import operator
from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import find_in_mro
from suture.compiler.language.conversions import number_of
from suture.compiler.language.operators import integer_of
from suture.compiler.objects import Constant, ListIterator, Symbol, Tensor
from suture.compiler.objects import array as array_values
from suture.compiler.objects.array import Array
from suture.compiler.objects.text import Text, field
from suture.compiler.torch.expected_rows import expected_rows, optional_rows
from suture.compiler.torch.slot_overrides import override_of_slot
from suture.compiler.torch.tensors import add_node, call_torch, tensor_to_number, truth_from_data


@implements(abstract.length, Tensor)
def tensor_len(trace: Trace, obj: Tensor) -> Value:
    overridden = override_of_slot(trace, obj, "__len__", [])
    return overridden if overridden is not None else abstract.tensor_length(trace, obj)


@implements(abstract.iterate, Tensor)
def tensor_iter(trace: Trace, value: Tensor) -> Value:
    overridden = override_of_slot(trace, value, "__iter__", [])
    if overridden is not None:
        return overridden
    rows = expected_rows(trace, value)
    if rows is None:
        optional = optional_rows(trace, value)
        if optional is not None:
            return optional
        rows = abstract.tensor_rows(trace, value)
    return ListIterator(rows)


@implements(abstract.contains, Tensor)
def tensor_contains(trace: Trace, container: Tensor, item: Value) -> Value:
    """A comparison and `any`, as nodes."""
    overridden = override_of_slot(trace, container, "__contains__", [item])
    if overridden is not None:
        return abstract.to_bool(trace, overridden)
    found = call_torch(trace, operator.eq, [container, item], {})
    return abstract.to_bool(trace, add_node(trace, "call_method", "any", [found], {}))


@implements(abstract.to_bool, Tensor)
def tensor_to_bool(trace: Trace, variable: Tensor) -> Value:
    if trace.region.whole and variable.value.numel() == 1:
        made: Value | None = truth_from_data(trace, variable)
        if made is not None:
            return made
    return Constant(abstract.truth(trace, variable))


@implements(abstract.integer, Tensor)
def tensor_integer(trace: Trace, variable: Tensor) -> int:
    return abstract.integer(trace, tensor_to_number(trace, variable, "__index__"))


@implements(abstract.number_of, Tensor)
def tensor_number(trace: Trace, value: Tensor, kind: type, method: str) -> Value:
    return tensor_to_number(trace, value, method)


@implements(abstract.operator_slot, Tensor)
def tensor_operator(trace: Trace, obj: Tensor, method: str, other: Value) -> Value | None:
    return None  # torch declines what is no operand of it


@implements(abstract.convert_value, Tensor, Symbol)
def text_of(trace: Trace, value: Value, how: str) -> Value:
    """Made when the variant runs."""
    return Text([field(trace, value, how)])


@implements(abstract.format_value, Tensor, Symbol)
def format_of(trace: Trace, value: Value, spec: Value | None) -> Value:
    """Made when the variant runs, unless the tensor is one number that is known."""
    if isinstance(value, Tensor) and value.cls is torch.Tensor and value.value.dim() == 0:
        number = abstract.known_number(trace, value)
        if number is not None:
            return abstract.format_value(trace, Constant(number), spec)
    known = abstract.constant_value(trace, spec) if spec else ""
    if known:
        _check_format(trace, value, known)
    return Text([field(trace, value, "format", known)])


def _check_format(trace: Trace, value: Any, spec: str) -> None:
    """Raise what a number, or a tensor of several, says to a format that is not for it: when the
    text is made, nobody handles it any more."""
    kind = value.python_type()
    if isinstance(value, Tensor):
        if find_in_mro(value.cls, "__format__") is not find_in_mro(torch.Tensor, "__format__"):
            return
        if value.value.dim():
            text = f"unsupported format string passed to {value.cls.__name__}.__format__"
            abstract.raise_(trace, TypeError, text)
        kind = type(torch.zeros((), dtype=value.value.dtype).item())
    try:
        format(kind(), spec)
    except (TypeError, ValueError) as error:
        abstract.raise_(trace, type(error), str(error))


@implements(abstract.integer, Array)
def array_integer(trace: Trace, variable: Array) -> int:
    if variable.is_scalar:
        return abstract.integer(trace, array_values.number_in(trace, variable))
    return integer_of(trace, variable)


@implements(abstract.number_of, Array)
def array_number(trace: Trace, value: Array, kind: type, method: str) -> Value:
    if value.is_scalar and kind is not complex:
        return abstract.number_of(trace, array_values.number_in(trace, value), kind, method)
    return number_of(trace, value, kind, method)
