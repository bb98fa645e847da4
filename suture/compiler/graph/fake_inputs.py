"""Fake counterparts of the tensors that a program is given."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch

from suture.compiler.graph.fake_copies import Alike, kind_of
from suture.compiler.graph.names import TorchName
from suture.torch_private import symbolic_shapes, tensor_parts


def fake_input(
    mode: Any,
    tensor: torch.Tensor,
    path: str,
    dims: Any,
    equals: dict[Any, Any],
    alike: Alike,
) -> Any:
    """The fake counterpart of the tensor at `path`. `dims` says which sizes are symbolic, or is
    None. Symbols that stand for the sizes of another tensor are put into `equals`; `alike` knows
    the weights that were met before."""
    if tensor_parts.is_traceable_wrapper_subclass(tensor) and dims is not None:
        return mode.from_tensor(tensor, symbolic_context=dims, source=TorchName(path))
    if tensor_parts.is_traceable_wrapper_subclass(tensor) or _views_a_wrapper(tensor):
        return mode.from_tensor(tensor, static_shapes=True)
    if dims is None and _stands_alone(tensor):
        # its sizes are numbers, and no other tensor's come with them: there is nothing that torch
        # might take for a symbol, and nothing of which to tell it that it is none
        kind = kind_of(tensor)
        found = None if kind is None else alike.find(mode, tensor, kind)
        if found is None:
            found = mode.from_tensor(tensor, static_shapes=True, source=TorchName(path))
            if kind is not None:
                alike.look(mode, tensor, kind, found)
        return found
    context = dims if dims is not None else symbolic_shapes.static_context(tensor)
    # Without a name torch does not take the number in a tensor of no dimensions for an input
    # of the program: it comes from data, and nothing may be decided on it while tracing.
    name = TorchName(path) if tensor.dim() else None
    # .grad warns of what is no leaf
    with nullcontext() if tensor.is_leaf else warnings.catch_warnings(action="ignore"):
        grad = _fake_grad(mode, tensor.grad, path, context)
        made = mode.from_tensor(tensor, symbolic_context=context, source=name)
    if grad is not None:  # torch finds it while it is alive
        for of_grad, size in zip(grad.shape, made.shape, strict=True):
            if isinstance(of_grad, torch.SymInt):
                equals[symbolic_shapes.expression(of_grad)] = size
    return made


def _fake_grad(mode: Any, grad: torch.Tensor | None, path: str, context: Any) -> Any:
    """A gradient has the sizes of its tensor. torch takes all of them for symbols where one of
    the two is a view and the other is not; they would be symbols that nothing reads."""
    if grad is None or tensor_parts.is_traceable_wrapper_subclass(grad):
        return None
    own = replace(context, view_base_context=symbolic_shapes.base_context(grad))
    return mode.from_tensor(grad, symbolic_context=own, source=TorchName(f"{path}.grad"))


def _stands_alone(tensor: torch.Tensor) -> bool:
    """Whether a tensor has sizes, views no other and has no gradient."""
    if not tensor.dim() or not tensor.is_leaf or tensor_parts.is_view(tensor):
        return False
    return tensor.grad is None


def _views_a_wrapper(tensor: torch.Tensor) -> bool:
    """Whether a tensor views one whose own sizes may be symbols (the values of a nested tensor)."""
    return tensor_parts.is_view(tensor) and tensor_parts.is_traceable_wrapper_subclass(
        tensor_parts.base_of(tensor)
    )
