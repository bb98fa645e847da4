"""Code of Inductor for GPUs, whose kernels take it that inputs begin at a multiple of 16 bytes."""

from __future__ import annotations

from typing import Any

import torch

from suture.runtime.callers.caller import Run

ALIGNMENT = 16
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_aligned(tensor: torch.Tensor) -> bool:
    """Whether a tensor is on a GPU and begins where kernels expect it to."""
    return type(tensor) in _PLAIN and tensor.is_cuda and tensor.data_ptr() % ALIGNMENT == 0


def begins_oddly(value: Any) -> bool:
    """Whether it is a tensor on a GPU that begins elsewhere."""
    return type(value) in _PLAIN and value.is_cuda and value.data_ptr() % ALIGNMENT != 0


def begins_aligned(tensor: Any) -> bool:
    """The guard on an input that is not known by identity, but marked as one that stays: code that
    was made for one which begins where kernels expect it does not look again."""
    return bool(tensor.data_ptr() % ALIGNMENT == 0)


def aligned(call: Run, checked: tuple[int, ...], written: tuple[int, ...]) -> Run:
    """`call` (a list of inputs in) with the inputs at `checked` copied where they begin elsewhere.
    What it writes to the copies of those at `written` is copied back."""
    if not checked:
        return call

    def run(inputs: list[Any]) -> Any:
        copied = []
        for i in checked:
            given = inputs[i]
            if given.data_ptr() % ALIGNMENT:
                inputs[i] = _copy(given)
                if i in written:
                    copied.append((given, inputs[i]))
        out = call(inputs)
        for given, copy in copied:
            given.copy_(copy)
        return out

    return run


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers with the same strides, at the beginning of memory of its own."""
    pairs = zip(tensor.shape, tensor.stride())
    length = 0 if 0 in tensor.shape else 1 + sum((n - 1) * stride for n, stride in pairs)
    return tensor.as_strided((length,), (1,)).clone().as_strided(tensor.shape, tensor.stride())
