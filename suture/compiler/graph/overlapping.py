"""Writes to memory that the same operation writes or reads a second time: to tensors that have
several elements at one place, such as expanded ones, and from one part of a tensor to another."""

from __future__ import annotations

import functools
from typing import Any

import torch

from suture.compiler.graph.places import meet, places_of
from suture.op_effects import Written, written_arguments
from suture.op_kinds import FILLING, is_pointwise
from suture.torch_private import fake_tensors, operators, tensor_parts


def refuse_overlap(func: Any, args: Any, kwargs: Any) -> None:
    """Raise what torch's kernels raise, and its kernels for fake tensors do not, if an operator
    writes to an element more than once, or to elements that it reads for others. A few kernels do
    not look: there the result hangs on the order in which they go, which no compiler keeps."""
    written = _written_memory(func)
    if not written:
        return
    targets = _tensors([one.given(args, kwargs) for one in written])
    name = operators.schema_of(func).name.removeprefix("aten::")
    fills = name in FILLING
    for target in targets:
        if not fills and _is_expanded(target):
            raise RuntimeError(_SEVERAL)
    listed = _tensors((args, kwargs))
    if len(listed) < 2:
        return
    neighbours: dict[int, list[Any]] = {}
    for one in listed:
        neighbours.setdefault(tensor_parts.storage_key(one), []).append(one)
    for target in targets:
        others = list(neighbours[tensor_parts.storage_key(target)])
        others.pop(next(at for at, one in enumerate(others) if one is target))
        for other in others:
            if not (fills and other.dim() == 0) and _is_read_elsewhere(target, other, name):
                raise RuntimeError(_SHARED)


_ADVICE = "Please clone() the tensor before performing the operation."
_SEVERAL = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    f"memory location. {_ADVICE}"
)
_SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
    f"a single memory location. {_ADVICE}"
)


@functools.cache
def _written_memory(func: Any) -> tuple[Written, ...]:
    """The arguments whose memory an operator of torch writes to."""
    if not isinstance(func, operators.OpOverload) or func.namespace != "aten":
        return ()
    if torch.Tag.inplace_view in func.tags:  # it changes the tensor, not its memory
        return ()
    return written_arguments(func)


def _tensors(values: Any) -> list[Any]:
    """The fake tensors among arguments whose elements lie in memory by sizes and strides."""
    return [
        v
        for v in tensor_parts.pytree.tree_leaves(values)
        if type(v) is fake_tensors.FakeTensor and v.layout is torch.strided
    ]


def _is_expanded(tensor: Any) -> bool:
    places = places_of(tensor)
    return places is not None and places.is_expanded()


def _is_read_elsewhere(target: Any, other: Any, name: str) -> bool:
    """Whether two tensors of one memory share elements, other than each at its place in both."""
    written, read = places_of(target), places_of(other)
    if written is None or read is None or (written == read and is_pointwise(name)):
        return False
    return meet(written, read)
