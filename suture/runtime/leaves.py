"""Leaves of autograd that a program makes while it runs, as graphs and variants make them."""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private.allocation import allocate


def empty_leaf(form: tuple[Any, ...]) -> torch.Tensor:
    """A leaf of that form; its numbers are anything."""
    cls, shape, strides, dtype, device, wants = form
    leaf = allocate(shape, strides, dtype, device).requires_grad_(wants)
    leaf.__class__ = cls  # a call of the class would detach it: an operation
    return leaf


def as_leaf(data: torch.Tensor) -> torch.Tensor:
    """The same memory as a leaf of autograd. A node of graphs."""
    return data.detach().requires_grad_()


def fill_parameter_(parameter: torch.Tensor, data: torch.Tensor) -> None:
    """Give a parameter its numbers. A node of graphs."""
    with torch.no_grad():
        parameter.copy_(data)
