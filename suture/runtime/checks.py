"""What happens where something a variant expected of data did not hold."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from suture import _core
from suture.runtime.chain import Chain
from suture.runtime.interpret import interpret


class AfterCheck:
    """The generators of random numbers go back to where they were, and the region is run in the
    interpreter. `tell` is called with what the conditions were, one truth for each check; should it
    give a point, that is entered instead."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.tell: Callable[[tuple[bool, ...]], Any] = _tell_nobody

    def __call__(self, before: Any, truths: tuple[Any, ...], *state: Any) -> Any:
        set_drawn(before)
        point = self.tell(tuple(bool(t) for t in truths))
        return interpret(self.chain, state) if point is None else _core.jump(point, *state)


def _tell_nobody(truths: tuple[bool, ...]) -> None:
    pass


def drawn(cuda: bool) -> Any:
    """How far torch's generators of random numbers are."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if cuda else None


def set_drawn(state: Any) -> None:
    """Put the generators back to where they were."""
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])


def keep(tensors: tuple[torch.Tensor, ...]) -> list[tuple[torch.Tensor, Any]]:
    """The numbers of some tensors whose memory is dense. Those of the CPU are kept as bytes, which
    runs no operation."""
    return [(t, _bytes_of(t) if t.is_cpu else t.detach().clone()) for t in tensors]


def put_back(kept: list[tuple[torch.Tensor, Any]]) -> None:
    """Give tensors the numbers again that were kept of them."""
    for tensor, numbers in kept:
        if isinstance(numbers, bytes):
            ctypes.memmove(tensor.data_ptr(), numbers, len(numbers))
        else:
            with torch.no_grad():
                tensor.copy_(numbers)


def _bytes_of(tensor: torch.Tensor) -> bytes:
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())
