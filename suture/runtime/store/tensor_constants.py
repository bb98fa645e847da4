"""Tensors that a graph holds as constants: their numbers, as JSON."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from suture.runtime.store.literals import Unstorable, decode, encode

_MOST_BYTES = 1 << 16


def encode_tensor(value: torch.Tensor) -> list[Any]:
    """A small tensor of the processor; raises Unstorable for others."""
    plain = type(value) is torch.Tensor and value.layout is torch.strided and value.is_cpu
    if not plain or value.requires_grad or value.is_conj() or value.is_neg():
        raise Unstorable("the graph has a constant that is no plain tensor of the processor")
    if not value.is_contiguous() or value.numel() * value.element_size() > _MOST_BYTES:
        raise Unstorable("the graph has a large constant")
    data = ctypes.string_at(value.data_ptr(), value.numel() * value.element_size())
    return [encode(value.dtype), list(value.shape), data.hex()]


def decode_tensor(data: Any) -> torch.Tensor:
    """The tensor that `encode_tensor` wrote."""
    dtype, shape, numbers = decode(data[0]), list(map(int, data[1])), bytearray.fromhex(data[2])
    if not numbers:
        return torch.empty(shape, dtype=dtype, device="cpu")
    return torch.frombuffer(numbers, dtype=dtype).reshape(shape)
