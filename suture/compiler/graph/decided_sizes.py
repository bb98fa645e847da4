"""Where an operation does something else for sizes of 0 and 1, and torch does not ask whether a
symbolic size is one: it takes a size that comes from data, or one that may be 0 and 1 because it
grows from there, for another one when it makes a fake tensor. No graph finds out when it runs, so
the size is decided: by a guard, or where only the data can tell by what torch raises for that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from suture.torch_private import operators
from suture.torch_private.symbolic_shapes import has_free_unbacked_symbols, is_symbolic

_aten = torch.ops.aten
_ALL = frozenset({_aten.squeeze.default, _aten.squeeze_.default})
_SOME = frozenset({_aten.squeeze.dim, _aten.squeeze.dims, _aten.squeeze_.dim, _aten.squeeze_.dims})


def decide_sizes(func: Any, args: Any) -> None:
    """Decide the sizes that `squeeze` leaves out, and whether `item` has one element."""
    if func is operators.local_scalar:
        count = args[0].numel()
        if is_symbolic(count) and not has_free_unbacked_symbols(count):
            bool(count == 1)
    elif func in _ALL or func in _SOME:
        sizes = args[0].shape
        for dim in range(len(sizes)) if func in _ALL else _dims(args[1]):
            if -len(sizes) <= dim < len(sizes) and is_symbolic(sizes[dim]):
                bool(sizes[dim] == 1)


def decided_layout(fake: torch.Tensor) -> torch.Tensor:
    """A tensor to ask whether it is contiguous, which tensors with sizes of 0 and 1 are in more
    ways: the fake tensor itself, or where such a size may be there one with sizes that guards
    decide. Of sizes from data torch asks itself."""
    sizes = [n for n in fake.shape if is_symbolic(n) and not has_free_unbacked_symbols(n)]
    if not any(bool(n <= 1) for n in sizes):
        return fake
    return torch.empty_strided(
        [int(n) for n in fake.shape], [int(n) for n in fake.stride()], device="meta"
    )


def _dims(given: int | Iterable[int]) -> Iterable[int]:
    return (given,) if isinstance(given, int) else given
