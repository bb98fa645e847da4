"""Attributes and methods of tensors."""

from __future__ import annotations

import inspect
import types
from typing import Any

import torch

from suture.breaks import Break, calls, subclasses, tensor_methods, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls.functions import rule_of
from suture.compiler.core import Trace
from suture.compiler.graph.decided_sizes import decided_layout
from suture.compiler.language.attributes import MISSING, find_in_mro, no_attribute
from suture.compiler.models import model_named
from suture.compiler.objects import (
    Constant,
    Object,
    Size,
    Symbol,
    Tensor,
    TensorMethod,
    Value,
    tensor,
)
from suture.compiler.objects import tensor as tensor_values
from suture.compiler.objects.tensor import KNOWN_METHODS, KNOWN_PROPERTIES, BaseMethod
from suture.compiler.torch.derivatives import fact_of_history
from suture.compiler.torch.overrides import override_of_method
from suture.compiler.torch.subclasses import PLAIN, put_by_program, subclass_attribute
from suture.compiler.torch.tensor_methods import set_attribute
from suture.compiler.torch.tensors import (
    NUMBERS,
    add_node,
    call_torch,
    tensor_to_number,
)
from suture.compiler.torch.wrappers import hides_method, wrapper_attribute
from suture.runtime.predicates import is_literal
from suture.torch_private import autograd_parts, tensor_parts

_OF_HISTORY = frozenset({"grad", "_grad", "grad_fn", "is_leaf", "requires_grad", "retains_grad"})
_COMPUTED = frozenset({"T", "mT", "H", "mH", "real", "imag"})


@implements(tensor.tensor_attribute)
def tensor_attribute(trace: Trace, tensor: Tensor, name: str) -> Value:
    if (
        tensor.attrs is not None and name in tensor.attrs and name != "data"
    ):  # another one each time
        return tensor.attrs[name]
    if tensor.cls not in PLAIN:
        own = subclass_attribute(trace, tensor, name)
        if own is not None:
            return own
    return torch_attribute(trace, tensor, name)


@implements(abstract.torch_attribute)
def torch_attribute(trace: Trace, tensor: Tensor, name: str) -> Value:
    own = put_by_program(trace, tensor, name)
    if own is not None:
        return abstract.method(trace, own, tensor)
    if trace.modes.overridable_seen:
        overridden = abstract.field_override(trace, tensor, name)
        if overridden is not None:
            return overridden
    if trace.bodies and name in _OF_HISTORY:
        trace.asked.append((next(iter(reversed(trace.graph.graph.nodes))), tensor.value))
    if name in ("is_leaf", "retains_grad") and tensor.source is not None:
        return fact_of_history(trace, tensor, name)
    known = getattr(torch.Tensor, name, MISSING) if name in KNOWN_PROPERTIES else MISSING
    if known is not MISSING and not callable(known):  # not every release has all of them
        if trace.graph.torch_function_off and hides_method(trace, tensor, name):
            return abstract.known(trace, getattr(torch.Tensor, name).__get__(tensor.value))
        return abstract.known(trace, getattr(tensor.value, name))
    if name == "shape":
        return tensor_shape(trace, tensor)
    if name in _COMPUTED:
        return call_torch(trace, getattr, [tensor, Constant(name)], {})
    if name == "data":
        return call_torch(trace, autograd_parts.data_of, [tensor], {})
    if name == "nbytes":
        size = _measure(trace, tensor, "numel", [], {})
        return abstract.finish(
            trace, abstract.binary(trace, "mul", size, Constant(tensor.value.element_size()))
        )
    if name == "__class__":
        return abstract.wrap(trace, tensor.cls, None)
    if name in ("grad", "grad_fn", "_grad", "_base", "_version", "grad_dtype"):
        return autograd_attribute(trace, tensor, name)
    found = find_in_mro(tensor.cls, name)
    if found is MISSING:
        return _instance_attribute_of_tensor(trace, tensor, name)
    if isinstance(found, property):
        return abstract.tail_call(trace, abstract.wrap(trace, found.fget, None), [tensor], {})
    if callable(getattr(torch.Tensor, name, None)):
        return TensorMethod(tensor, name)
    if callable(found):
        return abstract.method(trace, abstract.wrap(trace, found, None), tensor)
    if is_literal(found):
        return Constant(found)
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)


@implements(abstract.base_tensor_attribute)
def base_tensor_attribute(trace: Trace, tensor: Tensor, base: type, name: str) -> Value:
    if base is tensor_parts.TensorBase and callable(getattr(base, name)):
        return BaseMethod(tensor, name)
    if callable(getattr(torch.Tensor, name)):
        return abstract.method(
            trace, abstract.wrap(trace, getattr(torch.Tensor, name), None), tensor
        )
    return torch_attribute(trace, tensor, name)


def _instance_attribute_of_tensor(trace: Trace, tensor: Tensor, name: str) -> Value:
    if tensor.example is not None and tensor.cls in PLAIN:
        if hasattr(tensor.example, name):
            return abstract.wrap(
                trace, getattr(tensor.example, name), tensor.known_source.attr(name)
            )
        trace.guards.add(tensor.source, "no_attr", name)
    if tensor.cls not in PLAIN:
        inner = wrapper_attribute(trace, tensor, name)
        if inner is not None:
            return inner
        getter = abstract.type_lookup(trace, tensor.cls, "__getattr__")
        if isinstance(getter, types.FunctionType):
            return abstract.tail_call(
                trace, abstract.wrap(trace, getter, None), [tensor, Constant(name)], {}
            )
    return no_attribute(trace, tensor, name)


def autograd_attribute(trace: Trace, tensor: Tensor, name: str) -> Value:
    if name == "grad" and tensor.example is not None and tensor.example.is_leaf:
        source = tensor.known_source.attr("grad")
        trace.outside.loose.add(id(source))  # each backward may make a new one
        return abstract.wrap(trace, tensor.example.grad, source)
    if name in ("grad", "_grad") and tensor.example is None and not tensor.value.requires_grad:
        return Constant(None)
    if name == "grad_fn" and (not tensor.value.requires_grad or tensor.value.is_leaf):
        abstract.guard_history(trace, tensor)
        return Constant(None)
    if name == "grad_fn":
        raise Break(tensor_methods.GRAD_FN, tensor=tensor.describe())
    if tensor.cls not in PLAIN:
        kind = tensor.cls.__name__
        raise Break(subclasses.SUBCLASS_ATTRIBUTE, subclass=kind, attribute=name)
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)


@implements(tensor_values.tensor_set_attribute)
def tensor_set_attribute(trace: Trace, tensor: Tensor, name: str, value: Value) -> None:
    set_attribute(trace, tensor, name, value)


@implements(abstract.tensor_shape)
def tensor_shape(trace: Trace, tensor: Tensor) -> Size:
    return Size([_dimension(trace, tensor, i, n) for i, n in enumerate(tensor.value.shape)])


def _dimension(trace: Trace, tensor: Tensor, i: int, size: Any) -> Value:
    if isinstance(size, torch.SymInt):
        known = size.node.maybe_as_int()
        if known is None:
            at = trace.graph.levels.outer_size(size) or (tensor.node, i)
            node = trace.graph.node("call_method", "size", at, {}, size, counted=False)
            return Symbol(node, size)
        size = known
    return Constant(int(size))


@implements(abstract.tensor_length)
def tensor_length(trace: Trace, tensor: Tensor) -> Value:
    if tensor.value.dim() == 0:
        return abstract.raise_(trace, TypeError, "len() of a 0-d tensor")
    return _dimension(trace, tensor, 0, tensor.value.shape[0])


@implements(tensor_values.tensor_call_method)
def tensor_call_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    own = put_by_program(trace, tensor, name)
    if own is not None:
        return abstract.tail_call(trace, own, [tensor, *args], kwargs)
    return tensor_method(trace, tensor, name, args, kwargs)


@implements(abstract.tensor_descriptor)
def tensor_descriptor(
    trace: Trace, real: Any, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    name: str = real.__name__
    if put_by_program(trace, tensor, name) is not None:  # a node has the name alone
        raise Break(calls.C_FUNCTION, function=f"Tensor.{name}")
    return tensor_method(trace, tensor, name, args, kwargs)


@implements(abstract.tensor_method)
def tensor_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if trace.modes.overridable_seen or any(type(a) is Object for a in args):
        overridden = override_of_method(trace, tensor, name, args, kwargs)
        if overridden is not None:
            return overridden
    if "from" in kwargs and not args:  # a reserved word, which no graph's source can hold
        args = [kwargs["from"]]
        kwargs = {k: v for k, v in kwargs.items() if k != "from"}
    own = model_named("Tensor." + name)
    if own is not None:
        return own(trace, tensor, args, kwargs)
    if name in NUMBERS:
        return tensor_to_number(trace, tensor, name)
    if name == "size" and not kwargs:
        shape = tensor_shape(trace, tensor)
        return shape if not args else _pick(trace, shape, args)
    if name in ("dim", "ndimension", "__len__"):
        return tensor_length(trace, tensor) if name == "__len__" else Constant(tensor.value.dim())
    if name in KNOWN_METHODS:
        return _known_method(trace, tensor, name, args, kwargs)
    if name in ("numel", "nelement", "stride"):
        return _measure(trace, tensor, name, args, kwargs)
    found = find_in_mro(tensor.cls, name)
    if found is MISSING:
        found = inspect.getattr_static(tensor.cls, name, None)
    if found is None:
        return abstract.tail_call(trace, tensor_attribute(trace, tensor, name), args, kwargs)
    return tensor_node(trace, tensor, name, args, kwargs)


def _pick(trace: Trace, shape: Size, args: list[Value]) -> Value:
    at = abstract.integer(trace, args[0])
    if not -len(shape.items) <= at < len(shape.items):
        n = len(shape.items)
        return abstract.raise_(
            trace,
            IndexError,
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {at})",
        )
    return shape.at(trace, at)


def _known_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    values = [a.value if isinstance(a, Tensor) else abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    asked = decided_layout(tensor.value) if name == "is_contiguous" else tensor.value
    with trace.graph.fake:
        result = getattr(asked, name)(*values, **named)
    return abstract.known(trace, result)


def _measure(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    with trace.graph.fake:
        values = [abstract.constant_value(trace, a) for a in args]
        named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
        try:
            result = getattr(tensor.value, name)(*values, **named)
        except (IndexError, TypeError) as error:
            return abstract.raise_(trace, type(error), str(error))
    if is_literal(result):
        return Constant(result)
    return add_node(trace, "call_method", name, [tensor, *args], kwargs)


@implements(abstract.tensor_node)
def tensor_node(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    method = getattr(torch.Tensor, name, None)
    verdict = rule_of(trace, method) if method is not None else None
    if verdict is not None:
        return verdict(trace, [tensor, *args], kwargs)
    return add_node(trace, "call_method", name, [tensor, *args], kwargs)
