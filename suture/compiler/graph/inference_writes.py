"""Writes outside of inference mode to what was made in it. torch's kernels refuse those to tensors
of that mode; on fake tensors they do not where the tensor is a view, and compilers make a write of
it. A view that was made in the mode may not be asked for its history once its base is written
outside of it: such writes are Python's."""

from __future__ import annotations

from typing import Any

import torch

from suture.op_effects import written_arguments
from suture.torch_private import tensor_parts

_REFUSED = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)


_VIEWED = "a view of the tensor that is written to was made in inference mode"


def refuse_inference(func: Any, args: Any, kwargs: Any, viewed: set[int]) -> None:
    """Raise, if an operator writes outside of inference mode to a tensor of that mode, or to memory
    that is looked at by views made in it (`viewed`)."""
    written = written_arguments(func)
    if not written or torch.is_inference_mode_enabled():
        return
    for argument in written:
        given = argument.given(args, kwargs)
        for tensor in given if isinstance(given, (list, tuple)) else (given,):
            if not isinstance(tensor, torch.Tensor):
                continue
            if tensor.is_inference():
                raise RuntimeError(_REFUSED)
            if viewed and tensor_parts.storage_key(tensor) in viewed:
                raise RuntimeError(_VIEWED)


def note_view(of: torch.Tensor, viewed: set[int]) -> None:
    """Note a view that is about to be made, if it will be one of inference mode."""
    if torch.is_inference_mode_enabled() and not of.is_inference():
        viewed.add(tensor_parts.storage_key(of))
