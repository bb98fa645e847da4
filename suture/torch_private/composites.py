"""Operators that are written in terms of others: which ones, and on what they decide it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx

from suture.torch_private import fake_tensors
from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "bodies of repeated layers without gradients",
    "2.11-2.15",
    {"make_fx": "torch.fx.experimental.proxy_tensor.make_fx"},
)


def taken_apart(module: torch.fx.GraphModule, values: Sequence[Any]) -> torch.fx.GraphModule:
    """A graph on fake tensors, of which one at least is among `values`, in the operators that
    AOTAutograd sees when it traces the graph itself, under the modes of the moment."""
    make_fx = NAMES.get("make_fx")
    if is_missing(make_fx):
        return module
    fake = next(one.fake_mode for one in values if isinstance(one, fake_tensors.FakeTensor))
    with fake, fake_tensors.enable_python_dispatcher():  # as AOTAutograd has it
        made: torch.fx.GraphModule = make_fx(module)(*values)
    return made
