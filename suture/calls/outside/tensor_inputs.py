"""Tensors that come from outside: inputs of the graph."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, autograd, tensors
from suture.calls.part import Part
from suture.calls.tensor_classes.subclasses import (
    DISABLED,
    is_subclass,
    plain_example,
    plain_tensor,
)
from suture.calls.tensor_classes.wrappers import is_wrapper_class
from suture.dynamic import marks_of
from suture.graph.known import may_be_known
from suture.torch_private import tensor_parts
from suture.variables import Tensor


class TensorInputs(Part):
    """The part of the tracer that takes tensors in."""

    def wrap_tensor(self, value: torch.Tensor, source: Any) -> Tensor:
        """A tensor that comes from outside becomes an input of the graph."""
        if is_wrapper_class(type(value)):
            return self.wrap_wrapper(value, source)
        convert = plain_tensor if is_subclass(type(value)) else None
        if convert is not None:
            self.meet_subclass(type(value))
        example = value if convert is None else plain_example(value)
        with tensor_parts.DisableTorchFunctionSubclass():  # looking at it runs no code of its class
            self.refuse_tensor(example, source, type(value))
        plan = self.tensor_plan(example, source, self.history.said(source.path(), marks_of(value)))
        fake = self.fake_input(example, source, plan.context)
        static = convert is None and self.is_fixed(source) and self.stays(source, value)
        self.guards.add(source, "tensor", plan.spec(value, fake))
        if static:
            self.guards.add(source, "is", value)
        owner = self.owner_of_parameter(source) if convert is None else None
        node = self.graph.add_input(source, example, fake, static, convert, owner)
        made = Tensor(node, fake, source, type(value), value)
        self.note_input(made, plan)
        if (static or owner is not None) and may_be_known(value):
            self.note_known(made, value)
        return made

    def refuse_tensor(self, value: torch.Tensor, source: Any, kind: type) -> None:
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

    def fake_input(self, value: torch.Tensor, source: Any, dims: Any) -> torch.Tensor:
        try:
            made: torch.Tensor = self.graph.fake_tensor(value, source, dims)
        except (NotImplementedError, RuntimeError, TypeError, AttributeError) as error:
            text = f"{type(error).__name__}: {error}"
            raise Break(tensors.FAKE_UNSUPPORTED, tensor=source.path(), error=text) from error
        return made
