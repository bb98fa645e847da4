"""Autograd below its public surface."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from suture.torch_private.table import Topic, is_missing

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
        "dispatch_mode": "torch._C._get_dispatch_mode",
        "kinds_of_modes": "torch._C._TorchDispatchModeKey",
        "proxies_of": ("torch.fx.experimental.proxy_tensor._get_proxies", "2.13-2.15"),
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


_UNCHECKED = "saved_tensor_with_no_vc_check"  # AOTAutograd reads it of what it saves


def note_kept(results: Any) -> None:
    """Where AOTAutograd traces a Function of autograd, which gave `results`: tell it of the tensors
    that the Function keeps in attributes of its context. Unlike those that it saves they may be
    written before backward. AOTAutograd saves all of them."""
    mode, kinds = NAMES.get("dispatch_mode"), NAMES.get("kinds_of_modes")
    if is_missing(mode) or is_missing(kinds) or mode(kinds.PROXY) is None:
        return
    proxies_of = NAMES.get("proxies_of")
    nodes: list[Any] = [tensor.grad_fn for tensor in _tensors(results)]
    contexts = [n for n in nodes if isinstance(n, torch.autograd.function.BackwardCFunction)]
    if is_missing(proxies_of) or not contexts:
        return
    context = contexts[0]
    saved = {id(proxy.node) for t in _tensors(context.saved_tensors) for proxy in proxies_of(t)}
    for tensor in _tensors(list(vars(context).values())):
        for proxy in proxies_of(tensor):
            if id(proxy.node) not in saved:
                proxy.node.meta[_UNCHECKED] = True


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


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
