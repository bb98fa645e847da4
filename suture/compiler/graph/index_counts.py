"""More indices than a tensor has dimensions: `index_put_` of fake tensors does not count them."""

from __future__ import annotations

from typing import Any

import torch

_PUTTING = frozenset({torch.ops.aten.index_put_.default, torch.ops.aten.index_put.default})
_MASKS = (torch.bool, torch.uint8)


def refuse_indices(func: Any, args: Any) -> None:
    """Raise what torch's kernels raise, if elements are put at more indices than there are
    dimensions. A mask has as many as it has dimensions itself."""
    if func not in _PUTTING or len(args) < 2:
        return
    masks = [i.dim() for i in args[1] if isinstance(i, torch.Tensor) and i.dtype in _MASKS]
    count = len(args[1]) - len(masks) + sum(masks)
    if count > args[0].dim():
        text = f"too many indices for tensor of dimension {args[0].dim()} (got {count})"
        raise IndexError(text)
