"""Masks drawn by NumPy and scattered in place, as augmentation in speech models does it."""

from __future__ import annotations

import numpy
import torch

import suture
from tests.harness import check


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


def test_numpy_scalars_are_numbers_with_a_type() -> None:
    def fn(x: torch.Tensor, plan: numpy.ndarray, i: int) -> tuple[torch.Tensor, object, type]:
        end = plan[i]
        torch._dynamo.graph_break()
        rest = end - 2
        for k in range(1, end):
            if k > rest:
                x = x + k
        return x * end, rest, type(rest)

    compiled = suture.compile(fn, backend="eager")
    plan = numpy.array([3, 5])
    for i in (0, 1, 0):
        ours, theirs = compiled(torch.ones(2), plan, i), fn(torch.ones(2), plan, i)
        assert torch.equal(ours[0], theirs[0])
        assert ours[1:] == theirs[1:]
        assert type(ours[1]) is type(theirs[1])


def test_numpy_on_numbers_is_folded() -> None:
    def fn(x: torch.Tensor) -> tuple[torch.Tensor, object]:
        count = numpy.prod(x.shape) % 4
        if count == 0:
            x = x * float(numpy.log(numpy.exp(2.0) - 1))
        return x + numpy.sum([1, 2]), count

    check(fn, torch.ones(2, 4), graphs=1)
