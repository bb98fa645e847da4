"""Masks drawn by NumPy and scattered in place, as augmentation in speech models does it."""

from __future__ import annotations

import numpy
import torch

import suture


def draw(rows: int, length: int) -> numpy.ndarray:
    mask = numpy.zeros((rows, length), dtype=bool)
    starts = [numpy.random.choice(numpy.arange(length - 2), 2, replace=False) for _ in range(rows)]
    places = numpy.array(starts)[:, :, None] + numpy.arange(3)[None, None, :]
    numpy.put_along_axis(mask, places.reshape(rows, -1), 1, -1)
    return mask


def masked(x: torch.Tensor, embed: torch.Tensor) -> torch.Tensor:
    x = x * 1
    mask = torch.tensor(draw(x.shape[0], x.shape[1]), dtype=torch.bool)
    x[mask] = embed
    return x


def test_an_array_changed_in_place_reaches_the_next_graph() -> None:
    x, embed = torch.randn(2, 20, 4), torch.randn(4)
    compiled = suture.compile(masked, backend="eager")
    for seed in (1, 2, 3):
        numpy.random.seed(seed)
        wanted = masked(x, embed)
        numpy.random.seed(seed)
        assert torch.equal(compiled(x, embed), wanted)
