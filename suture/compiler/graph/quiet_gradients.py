"""Gradients of inputs, read without a word."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import torch


def quiet_gradient(tensor: torch.Tensor) -> Any:
    """A block in which .grad of what is no leaf does not warn. Of a leaf it does not: entering the
    block would make Python forget which warnings it has shown."""
    if tensor.is_leaf:
        return contextlib.nullcontext()
    return warnings.catch_warnings(action="ignore")
