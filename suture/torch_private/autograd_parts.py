"""Autograd below its public surface."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "autograd.Function and derivatives inside of a graph",
    "2.11-2.15",
    {
        "SingleLevelFunction": "torch.autograd.function._SingleLevelFunction",
        "data_of": "torch._C._autograd._get_data_attr",
        "forward_block": "torch.autograd.forward_ad._set_fwd_grad_enabled",
        "engine": "torch.autograd.Variable._execution_engine",
        "process_groups": "torch.distributed.distributed_c10d._world",
        "set_version_counter": "torch._C._autograd._unsafe_set_version_counter",
        "preserve_version_counter": "torch.autograd._unsafe_preserve_version_counter",
    },
)


DEFAULT_GROUP = "_default_pg"  # of `process_groups`: None where this process stands alone


def gradients_past_hooks(losses: Any, leaves: Any, starts: Any, keeps: bool) -> Any:
    """What torch.autograd.grad gives for `leaves` whose hooks are not called. A node of graphs:
    what the hooks do follows it there. Tensors of compilers have no hooks."""
    plain = (torch.Tensor, torch.nn.Parameter)
    hooked = [(x, x._backward_hooks) for x in leaves if type(x) in plain and x._backward_hooks]
    try:
        for leaf, _ in hooked:
            leaf._backward_hooks = None
        return torch.autograd.grad(losses, leaves, starts, keeps, allow_unused=True)
    finally:
        for leaf, table in hooked:
            leaf._backward_hooks = table


def function_class(
    name: str, forward: Callable[..., Any], backward: Callable[..., Any] | None = None
) -> Any:
    """A class derived from torch.autograd.Function with these two methods."""
    body: dict[str, Any] = {"__module__": __name__, "forward": staticmethod(forward)}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return types.new_class(name, (torch.autograd.Function,), exec_body=lambda ns: ns.update(body))


def __getattr__(name: str) -> Any:
    return NAMES.get(name)
