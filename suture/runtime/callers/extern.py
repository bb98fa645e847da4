"""Functions that Inductor's code calls by name and that are Python of Inductor, remade."""

from __future__ import annotations

from typing import Any

import torch


def bias_addmm(
    bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, **options: Any
) -> torch.Tensor:
    """torch.addmm, given one row where all rows of `bias` are one: there is a faster kernel."""
    rows = bias.size(0)
    if rows == 1 or (rows and bias.stride(0) == 0):
        bias = bias[0]
    return torch.addmm(bias, a, b, **options)


REMADE = {"bias_addmm": bias_addmm}
