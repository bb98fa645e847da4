"""Inputs of a graph that are where they were at the call before."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from suture.compiler.graph.builder import GraphInput
from suture.runtime.callers.aligned import begins_aligned, begins_oddly, is_aligned
from suture.runtime.guards import Guards


def keeps_address(entry: GraphInput) -> bool:
    """Whether it is worth recording the address of an input: parameters and buffers, and what the
    program marked so (`mark_static_address`). A promise that nothing relies on: who records
    addresses compares them at each call.

    Not so what begins at an odd place in the memory of a GPU: Inductor takes it that an input which
    keeps its address begins where kernels expect it, and its cache does not tell the two apart."""
    if begins_oddly(entry.example):
        return False
    if entry.rank() < 2:
        return True
    if entry.convert is not None or not isinstance(entry.example, torch.Tensor):
        return False
    marked = getattr(entry.example, "_dynamo_static_input_type", None)
    return marked is not None or isinstance(entry.example, torch.nn.Parameter)


def guard_beginnings(guards: Guards, inputs: Iterable[GraphInput]) -> None:
    """Parameters that are arguments, or belong to one, are other tensors in other calls. Inductor
    looks at none of them, since they are marked: those for which it makes code that needs them to
    begin where kernels expect it are guarded to. Another one gets a variant without the mark."""
    for entry in inputs:
        if entry.rank() == 0 or entry.source is None:
            continue
        if keeps_address(entry) and is_aligned(entry.example):
            guards.add(entry.source, "truth", begins_aligned)
