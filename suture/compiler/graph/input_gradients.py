"""Gradients that inputs have: fake ones with the sizes of their tensors, read without a warning."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace
from typing import Any

import torch

from suture.compiler.graph.names import TorchName
from suture.runtime.sources import Source
from suture.torch_private import symbolic_shapes, tensor_parts


def fake_gradient(fake: Any, grad: torch.Tensor | None, source: Source, context: Any) -> Any:
    """A gradient has the sizes of its tensor. torch takes all of them for symbols where one of
    the two is a view and the other is not; they would be symbols that nothing reads."""
    if grad is None or tensor_parts.is_traceable_wrapper_subclass(grad):
        return None
    own = replace(context, view_base_context=symbolic_shapes.base_context(grad))
    name = TorchName(f"{source.path()}.grad")
    return fake.from_tensor(grad, symbolic_context=own, source=name)


def quiet_gradient(tensor: torch.Tensor) -> Any:
    """A block in which .grad of what is no leaf does not warn. Of a leaf it does not: entering the
    block would make Python forget which warnings it has shown."""
    if tensor.is_leaf:
        return contextlib.nullcontext()
    return warnings.catch_warnings(action="ignore")
