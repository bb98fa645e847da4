"""Graphs of an earlier process that take DTensors apart and give DTensors back.

A graph knows plain tensors and meshes. Around it a DTensor is replaced by its part on this rank and
its mesh, and by those of the sizes of both that are numbers of the graph; results are put together
in the same way. `torch_private.aot_subclasses` says how, from what AOTAutograd did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.runtime.callers.caller import Run
from suture.torch_private import dtensor_parts

Together = Callable[[Any], list[Any]]
Positions = tuple[list[int], list[int]]  # of sizes, and of strides


def around_parts(run: Run, data: dict[str, Any]) -> Run:
    """The same (a list in, a list out) with DTensors as inputs and results. What the graph gives
    behind its results stays as it is."""
    inputs = [None if one is None else _positions(one) for one in data["inputs"]]
    together = put_together(data["outputs"])

    def apart(args: list[Any]) -> list[Any]:
        given: list[Any] = []
        for arg, numbers in zip(args, inputs):
            if numbers is None:
                given.append(arg)
                continue
            of_part, own = numbers
            part = dtensor_parts.local_of(arg)
            given += (part, *_numbers(part, of_part), arg.device_mesh, *_numbers(arg, own))
        given += args[len(inputs) :]
        args.clear()
        return together(run(given))

    return apart


def put_together(data: Any) -> Together:
    """What makes results of the results of a graph; those after the last that is used follow."""
    makers = [_maker(one) for one in data]
    used = max((end for _, end in makers), default=0)

    def together(made: Any) -> list[Any]:
        return [*(make(made) for make, _ in makers), *made[used:]]

    return together


def _positions(data: Any) -> tuple[Positions, Positions]:
    """Sizes and strides of the part, and of the DTensor."""
    sizes, strides, own_sizes, own_strides = (list(map(int, one)) for one in data)
    return (sizes, strides), (own_sizes, own_strides)


def _numbers(tensor: Any, positions: Positions) -> list[int]:
    sizes, strides = positions
    return [*(tensor.size(i) for i in sizes), *(tensor.stride(i) for i in strides)]


def _maker(data: Any) -> tuple[Callable[[Any], Any], int]:
    """What makes one result of all that the graph gives, and where those end that it uses."""
    if type(data) is int:
        return (lambda made: made[data]), data + 1
    first = int(data["first"])
    context = dtensor_parts.context_of(data["context"])
    size, stride = data["size"], data["stride"]
    like_part, strided_like_part = map(bool, data["of_part"])
    mesh = first + 1 + int(data["numbers"])  # of the part, which follow it
    numbers = mesh + 1
    strides = numbers + size.count(None)
    end = strides + stride.count(None)

    def make(made: Any) -> Any:
        part = made[first]
        sized = part.size() if like_part else _filled(size, made, numbers)
        strided = part.stride() if strided_like_part else _filled(stride, made, strides)
        return dtensor_parts.made(part, made[mesh], context, sized, strided)

    return make, end


def _filled(known: list[int | None], made: Any, at: int) -> tuple[int, ...]:
    """Sizes, of which those that were not known are numbers of the graph."""
    if None not in known:
        return tuple(known)  # type: ignore[arg-type]
    rest = iter(made[at:])
    return tuple(next(rest) if one is None else one for one in known)


class Derivative:
    """Brings a derivative that is a DTensor to where the backward graph expects it, and takes it
    apart."""

    def __init__(self, data: dict[str, Any], local: Callable[[Any], Any]) -> None:
        self.context = dtensor_parts.context_of(data["context"])
        self.format = getattr(torch, data["format"])
        if type(self.format) is not torch.memory_format:
            raise ValueError(f"torch.{data['format']} is no memory format")
        self.local = local

    def apart(self, grad: Any) -> list[Any]:
        """The tensor of this rank, and the mesh."""
        if not dtensor_parts.is_plain(grad):
            raise RuntimeError(
                f"the backward graph was compiled for a DTensor, and gets {type(grad).__qualname__}"
            )
        placements, _, order, _ = self.context
        _, (found, _, ordered, _) = grad.__tensor_flatten__()
        if (found, ordered) != (placements, order):
            grad = grad.redistribute(grad.device_mesh, placements)
        if not grad.is_contiguous(memory_format=self.format):
            grad = grad.contiguous(memory_format=self.format)
        return [self.local(dtensor_parts.local_of(grad)), grad.device_mesh]
