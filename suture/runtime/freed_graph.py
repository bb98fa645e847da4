"""A tensor whose autograd graph is freed: a compiled graph has run backward() through it."""

from __future__ import annotations

import functools
from typing import Any

import torch

_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after"
    " they have already been freed). Saved intermediate values of the graph are freed when you call"
    " .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the"
    " graph a second time or if you need to access saved tensors after calling backward."
)


class _Freed(torch.autograd.Function):
    """Gives a tensor with an autograd graph that raises, above whatever it was computed from."""

    @staticmethod
    def forward(ctx: Any, like: torch.Tensor, *above: torch.Tensor) -> torch.Tensor:
        still = [0] * like.dim()  # of one element, however large: its memory is replaced
        return torch.empty_strided(like.shape, still, dtype=like.dtype, device=like.device)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(_TWICE)


@functools.cache
def _leaf() -> torch.Tensor:
    return torch.zeros((), requires_grad=True)


def with_freed_graph(numbers: torch.Tensor, *above: torch.Tensor) -> torch.Tensor:
    """A tensor on the same memory whose autograd graph is freed. `above` are the leaves and other
    such tensors that it was computed from: a derivative with respect to these raises, one with
    respect to anything else finds no way there."""
    with torch.enable_grad():
        made: torch.Tensor = _Freed.apply(numbers, _leaf(), *above)  # type: ignore[no-untyped-call]
    made.data = numbers
    return made
