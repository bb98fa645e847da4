"""Tensors that come from outside: inputs of the graph."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, arrays, autograd, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace
from suture.compiler.graph.known_numbers import may_be_known
from suture.compiler.objects import Tensor
from suture.compiler.outside.identity import is_of_optimizer, owner_of_parameter, stays_same
from suture.compiler.outside.inputs import note_input, note_known, tensor_plan
from suture.compiler.torch.array_memory import meets_written
from suture.compiler.torch.subclasses import DISABLED, is_subclass, plain_example, plain_tensor
from suture.compiler.torch.wrappers import is_wrapper_class, wrap_wrapper
from suture.dynamic import marks_of
from suture.runtime.sources import Source
from suture.torch_private import tensor_parts


@implements(abstract.wrap_tensor)
def wrap_tensor(trace: Trace, value: torch.Tensor, source: Source) -> Tensor:
    if is_wrapper_class(type(value)):
        return wrap_wrapper(trace, value, source)
    convert = plain_tensor if is_subclass(type(value)) else None
    if convert is not None:
        abstract.meet_subclass(trace, type(value))
    example = value if convert is None else plain_example(value)
    with tensor_parts.DisableTorchFunctionSubclass():  # looking at it runs no code of its class
        refuse_tensor(trace, example, source, type(value))
        if trace.numbers.arrays_written and meets_written(trace, example, source, False):
            raise Break(arrays.ARRAY_METHOD, method="read")
    plan = tensor_plan(
        trace, example, source, trace.region.history.said(source.path(), marks_of(value))
    )
    fake = fake_input(trace, example, source, plan.context)
    static = (
        convert is None and abstract.is_fixed(trace, source) and stays_same(trace, source, value)
    )
    trace.guards.add(source, "tensor", plan.spec(value, fake))
    if static:
        trace.guards.add(source, "is", value)
    owner = owner_of_parameter(trace, source) if convert is None else None
    node = trace.graph.add_input(source, example, fake, static, convert, owner)
    made = Tensor(node, fake, source, type(value), value)
    note_input(trace, made, plan)
    lasting = static and not is_of_optimizer(trace, source)
    if (lasting or owner is not None) and may_be_known(value, fake):
        note_known(trace, made, value)
    return made


@implements(abstract.refuse_tensor)
def refuse_tensor(trace: Trace, value: torch.Tensor, source: Source, kind: type) -> None:
    if value.layout is not torch.strided and not value.is_nested:
        raise Break(tensors.SPARSE, tensor=source.path(), layout=str(value.layout))
    if value.is_nested:
        raise Break(tensors.NESTED, tensor=source.path())
    grad = value.grad if value.is_leaf else None
    if grad is not None and grad.dtype != value.dtype:
        raise Break(
            autograd.GRADIENT_DTYPE,
            tensor=source.path(),
            dtype=str(value.dtype),
            grad=str(grad.dtype),
        )
    if value.is_quantized:
        raise Break(tensors.FAKE_UNSUPPORTED, tensor=source.path(), error="it is quantized")
    if kind not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        own = getattr(kind, "__torch_function__", None)
        parameter = own is DISABLED and issubclass(kind, torch.nn.Parameter)
        if not parameter and not is_subclass(kind):
            raise Break(tensors.SUBCLASS, tensor=source.path(), subclass=kind.__name__)


@implements(abstract.fake_input)
def fake_input(trace: Trace, value: torch.Tensor, source: Source, dims: Any) -> torch.Tensor:
    try:
        made = trace.graph.fake_tensor(value, source, dims)
    except (NotImplementedError, RuntimeError, TypeError, AttributeError, AssertionError) as error:
        text = f"{type(error).__name__}: {error}"
        raise Break(tensors.FAKE_UNSUPPORTED, tensor=source.path(), error=text) from error
    return made
