"""What happens where something a variant expected of data did not hold."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from suture import _core
from suture.errors import SutureError
from suture.runtime.chain import Chain
from suture.runtime.interpret import interpret
from suture.torch_private import autograd_parts
from suture.torch_private.tensor_parts import version_of


class AfterCheck:
    """The generators of random numbers go back to where they were, and the region is run in the
    interpreter. `tell` is called with what the conditions were, one truth for each check, and with
    the state; should it give a point, that is entered instead. `other` gives the point that runs
    the region without expecting what earlier calls did, and None if there is none; it is told
    whether the graph raised."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.tell: Callable[[tuple[bool, ...], tuple[Any, ...]], Any] = tell_nobody
        self.other: Callable[[bool, tuple[Any, ...]], Any] = tell_nobody

    def __call__(self, before: Any, truths: tuple[Any, ...], *state: Any) -> Any:
        set_drawn(before)
        return self._enter(self.tell(tuple(bool(t) for t in truths), state), state)

    def around(self, *state: Any) -> Any:
        """The graph may not run for nothing now: run the region without it."""
        return self._enter(self.other(False, state), state)

    def raised(self, exc: BaseException, *state: Any) -> Any:
        """The graph raised, perhaps because a condition did not hold: what to continue with; None
        if that is for others to say."""
        if not isinstance(exc, Exception) or isinstance(exc, SutureError):
            return None
        point = self.other(True, state)
        return None if point is None else _core.jump(point, *state)

    def _enter(self, point: _core.Point, state: tuple[Any, ...]) -> Any:
        return interpret(self.chain, state) if point is None else _core.jump(point, *state)


class Watch:
    """Is told which way Python went at the branch, on data, that a variant ends with."""

    def __init__(self, position: Any) -> None:
        self.position = position
        self.tell: Callable[[bool], object] = tell_nobody

    def __call__(self, truth: bool) -> bool:
        self.tell(truth)
        return truth


class RowsWatch(Watch):
    """Is told the `mask.nonzero()` that a loop goes over: for each of the `count` numbers of the
    mask, whether it is in. After `_LOOKS` calls in which that was not steady it looks no more."""

    def __init__(self, position: Any, count: int) -> None:
        super().__init__(position)
        self.count = count
        self.left = _LOOKS

    def rows(self, tensor: torch.Tensor) -> None:
        if self.left and self.tell is not tell_nobody:
            self.left -= 1
            found = set(tensor.flatten().tolist())
            for number in range(self.count):
                self.tell(number in found)


_LOOKS = 512  # loops that are looked at before they are taken to be never steady


def tell_nobody(*what: Any) -> None:
    pass


def drawn(cuda: bool) -> Any:
    """How far torch's generators of random numbers are; those of GPUs too if `cuda`."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if cuda else None


def set_drawn(state: Any) -> None:
    """Put the generators back to where they were; None: nothing was drawn."""
    if state is None:
        return
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])


Kept = list[tuple[torch.Tensor, Any, int, tuple[Any, ...]]]


def keep(tensors: tuple[torch.Tensor, ...]) -> Kept:
    """The numbers of some tensors, with what lies between them in memory, and their versions and
    shapes. Those of the CPU are kept as bytes, which runs no operation."""
    return [
        (t, _bytes_of(t) if t.is_cpu else _line(t).clone(), version_of(t), _places(t))
        for t in tensors
    ]


def put_back(kept: Kept) -> None:
    """Give tensors the numbers again that were kept of them. They have been written to for nothing:
    autograd, which may have saved them before, is not to see that."""
    for tensor, numbers, version, places in kept:
        if _places(tensor) != places:
            with torch.no_grad():
                tensor.as_strided_(*places)
        if isinstance(numbers, bytes):
            ctypes.memmove(tensor.data_ptr(), numbers, len(numbers))
        else:
            with torch.no_grad():
                _line(tensor).copy_(numbers)
        autograd_parts.set_version_counter((tensor,), (version,))


def _places(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _bytes_of(tensor: torch.Tensor) -> bytes:
    return ctypes.string_at(tensor.data_ptr(), span_in_bytes(tensor))


def _line(tensor: torch.Tensor) -> torch.Tensor:
    """The memory from the first element to the last, in one dimension."""
    if tensor.is_contiguous():
        return tensor.detach()
    count = span_in_bytes(tensor) // tensor.element_size()
    return tensor.detach().as_strided((count,), (1,))


def span_in_bytes(tensor: torch.Tensor) -> int:
    """How much memory lies from the first element of a tensor to the last."""
    if tensor.is_contiguous():
        return tensor.numel() * tensor.element_size()
    if not tensor.numel():
        return 0
    steps = zip(tensor.shape, tensor.stride())
    return (1 + sum((n - 1) * step for n, step in steps)) * tensor.element_size()
