"""Hooks of leaves in a backward() that is part of the graph: they are traced where the engine calls
them. Those set with register_hook get the gradient of their leaf before it is added to `.grad`, and
may give another one; those set with register_post_accumulate_grad_hook get the leaf afterwards.

The engine comes to one leaf after the other, each as soon as its gradient is complete, and calls
its hooks then. In the graph all gradients are computed first, and the hooks follow in the engine's
order. A hook cannot tell: it has no way to gradients that are not in `.grad` yet, and what it
writes into a leaf no later part of the engine's run may read (autograd raises for a tensor that was
saved), unless the region has made another tensor that shows the leaf without its history, which is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from suture.breaks import Break
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Function, Raised, Tensor
from suture.torch_private import tensor_parts

_BEFORE, _AFTER = "_backward_hooks", "_post_accumulate_grad_hooks"


def has_hooks(leaf: Tensor) -> bool:
    """Whether there is a table of hooks, also an empty one."""
    return any(_table(leaf, name) is not None for name in (_BEFORE, _AFTER))


def runs_before(leaf: Tensor) -> bool:
    """Whether hooks get the gradient before it is in `.grad`."""
    return bool(_table(leaf, _BEFORE))


def _table(leaf: Tensor, name: str) -> Any:
    return getattr(leaf.example, name, None) if leaf.source is not None else None


def guard_none(trace: Trace, leaf: Tensor) -> None:
    """A leaf has hooks only where it had some. Those that it has are guarded as they are read."""
    for name in (_BEFORE, _AFTER) if leaf.source is not None else ():
        if _table(leaf, name) is None:
            trace.guards.add(leaf.known_source.attr(name), "is", None)


def shows_leaf(trace: Trace, leaves: list[Any]) -> bool:
    """Whether a tensor of the graph shows the memory of a leaf without its history."""
    memory = {tensor_parts.storage_key(leaf.value) for leaf in leaves}
    for node in trace.graph.graph.nodes:
        value = node.meta.get("example_value")
        for one in value if isinstance(value, (tuple, list)) else (value,):
            strided = isinstance(one, torch.Tensor) and one.layout is torch.strided
            if strided and not one.requires_grad and tensor_parts.storage_key(one) in memory:
                return True
    return False


@contextmanager
def order_of_engine(leaves: list[Tensor]) -> Iterator[list[int]]:
    """A list that gets the positions of the leaves in the order in which the engine, run on their
    fake tensors, comes to them."""
    order: list[int] = []

    def noting(number: int) -> Callable[[torch.Tensor], None]:
        return lambda grad: order.append(number)

    handles = [leaf.value.register_hook(noting(i)) for i, leaf in enumerate(leaves)]
    try:
        yield order
    finally:
        for handle in handles:
            handle.remove()


def run_before(trace: Trace, leaf: Tensor, grad: Tensor, refused: Break) -> Any:
    """The gradient that the hooks make of `grad`."""
    if not runs_before(leaf):
        return grad
    return _run(trace, _before, leaf, _BEFORE, grad, refused)


def run_after(trace: Trace, leaf: Tensor, refused: Break) -> None:
    if _table(leaf, _AFTER):
        _run(trace, _after, leaf, _AFTER, leaf, refused)


def _run(trace: Trace, body: Any, leaf: Tensor, name: str, given: Value, refused: Break) -> Any:
    """Trace what the engine does with a table of hooks. A hook that breaks or raises is left to the
    engine, and all of its run with it."""
    hooks = abstract.wrap(trace, _table(leaf, name), leaf.known_source.attr(name))
    fn = Function(body, abstract.pinned(trace, body))
    try:
        return abstract.finish(trace, abstract.inline(trace, fn, [hooks, given], {}))
    except (Raised, Break):
        raise refused from None


def _before(hooks: Any, grad: torch.Tensor) -> torch.Tensor:
    """It is traced."""
    with torch.no_grad():
        for hook in tuple(hooks.values()):
            made = hook(grad)
            if made is not None:
                grad = made
    return grad


def _after(hooks: Any, leaf: torch.Tensor) -> None:
    """It is traced."""
    with torch.no_grad():
        for hook in tuple(hooks.values()):
            if hook(leaf) is not None:
                raise RuntimeError
