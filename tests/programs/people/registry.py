"""The programs of this folder: functions that make a function and the arguments of its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PROGRAMS: list[Callable[[], Any]] = []


def program(make: Callable[[], Any]) -> Callable[[], Any]:
    """A program: `make()` gives a function with its own world, and the arguments of its calls. A
    third part, if there is one, is called with the number of each call before it, and changes the
    world."""
    PROGRAMS.append(make)
    return make


def line() -> torch.Tensor:
    return torch.arange(4.0) + 1


def grid() -> torch.Tensor:
    return torch.arange(12.0).view(3, 4)
