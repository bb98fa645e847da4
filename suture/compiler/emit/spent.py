"""A loss that leaves a region in which backward() was called.

Its history is used up: all that it is good for is to raise what eager raises if backward() is
called again. A compiler would differentiate it when it compiles, which is no longer possible. So
the graph gives the number alone, and the variant makes a tensor of it that requires grad. What
differs from eager is the name of its `grad_fn`.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from suture.compiler.emit.writer import Writer

_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after"
    " they have already been freed). Saved intermediate values of the graph are freed when you call"
    " .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the"
    " graph a second time or if you need to access saved tensors after calling backward."
)


class _Spent(torch.autograd.Function):
    """Gives a tensor with a history that cannot be gone through."""

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(like)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(_TWICE)


@functools.cache
def _leaf() -> torch.Tensor:
    return torch.zeros((), requires_grad=True)


def spent(number: torch.Tensor) -> torch.Tensor:
    """A tensor on the same memory whose history is used up."""
    with torch.enable_grad():
        made: torch.Tensor = _Spent.apply(_leaf(), number)
    made.data = number
    return made


def write_spent(writer: Writer, builder: Any) -> list[str]:
    """Let the graph give losses that leave the region without their history, and the lines that
    make them what they were."""
    lines = []
    for node in list(writer.outputs):
        value = node.meta.get("example_value")
        if value is None or not builder.derivatives.is_spent_loss(value):
            continue
        plain, _ = builder.call("call_method", "detach", (node,), {})
        name = writer.replace_output(node, plain)
        lines.append(f"    {name} = {writer.constant(spent, 'spent')}({name})")
    return lines
