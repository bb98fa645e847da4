"""How many dimensions `squeeze` leaves of a tensor whose size comes from data: torch takes such a
size for another one than 1 when it makes a fake tensor, and no graph finds out when it runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from suture.torch_private.symbolic_shapes import has_free_unbacked_symbols

_aten = torch.ops.aten
_ALL = frozenset({_aten.squeeze.default, _aten.squeeze_.default})
_SOME = frozenset({_aten.squeeze.dim, _aten.squeeze.dims, _aten.squeeze_.dim, _aten.squeeze_.dims})


def refuse_squeeze(func: Any, args: Any) -> None:
    """Raise what torch raises where a decision needs a number that only the data have, if a size
    that `squeeze` looks at is such a number and may be 1."""
    if func not in _ALL and func not in _SOME:
        return
    sizes = args[0].shape
    for dim in range(len(sizes)) if func in _ALL else _dims(args[1]):
        if -len(sizes) <= dim < len(sizes) and has_free_unbacked_symbols(sizes[dim]):
            bool(sizes[dim] == 1)


def _dims(given: int | Iterable[int]) -> Iterable[int]:
    return (given,) if isinstance(given, int) else given
