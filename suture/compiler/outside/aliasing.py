"""Which inputs are one object, and which must not be one.

Objects that were told apart while tracing are assumed to be different at every call: where the
region changes one of them, or compares two by identity, another call may not pass one object twice.
"""

from __future__ import annotations

from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Mutable, Trace
from suture.compiler.graph.builder import was_written
from suture.compiler.objects import Dict, Tensor, Tuple
from suture.compiler.objects.tensor_parameter import RenewedTensor
from suture.runtime.reads import offset_of, storage_of
from suture.torch_private.tensor_parts import is_traceable_wrapper_subclass

_FEW = 12  # so many tensors are always told apart; more of them only where one is changed


def guard_aliasing(trace: Trace) -> None:
    """Require that inputs which were different objects stay so. Called once, at the end."""
    tensors: list[Any] = []
    others: list[Any] = []
    fixed: list[Any] = []
    changes = any(v.source is not None for v in trace.effects.touched.values())
    for _, variable in trace.outside.known.values():
        source = getattr(variable, "source", None)
        if source is None or isinstance(variable, Tuple):
            continue
        if not changes and not isinstance(variable, Tensor):
            continue
        if source.kind == "const" or abstract.is_fixed(trace, source):
            if isinstance(variable, Mutable):
                fixed.append((source, _kind_of(variable)))
            continue
        if isinstance(variable, Tensor):
            tensors.append(variable)
        elif isinstance(variable, Mutable):
            others.append((source, _kind_of(variable)))
    writes = len(tensors) > 1 and trace.graph.writes()
    renewed = any(type(t) is RenewedTensor for t in tensors)
    if writes:
        _guard_storages(trace, tensors)
    if len(tensors) > 1 and (len(tensors) <= _FEW or writes or renewed):
        trace.guards.add(None, "distinct", tuple(t.source for t in tensors))
    if changes:
        for kind in {k for _, k in others}:
            same = tuple(s for s, k in (*others, *fixed) if k is kind)
            if len(same) > 1:
                trace.guards.add(None, "distinct", same)


def _kind_of(variable: Mutable) -> type:
    """What values have in common that may stand for one object. The place where a dict is says
    whether it is a table of hooks."""
    return Dict if isinstance(variable, Dict) else type(variable)


def _guard_storages(trace: Trace, tensors: list[Tensor]) -> None:
    """Where a tensor is written, the same ones must share memory as did while tracing."""
    tensors = [t for t in tensors if not is_traceable_wrapper_subclass(t.value)]
    storages = [storage_of(t.example) for t in tensors]
    firsts: dict[int, Any] = {}
    for tensor, storage in zip(tensors, storages):
        storage_source = tensor.known_source.call(storage_of)
        first = firsts.setdefault(id(storage), storage_source)
        if first is not storage_source:
            trace.guards.add(first, "same", storage_source)
    # as they came in: `.data` may have been set since
    came = {id(e.source): e.node.meta["val"] for e in trace.graph.inputs}
    written = {
        id(s) for t, s in zip(tensors, storages) if was_written(came.get(id(t.source), t.value))
    }
    shared = [
        t
        for t, s in zip(tensors, storages)
        if id(s) in written and sum(s is other for other in storages) > 1
    ]
    for tensor in shared:  # how they overlap is part of the graph
        trace.guards.add(tensor.known_source.call(offset_of), "equals", offset_of(tensor.example))
    if len(firsts) > 1:
        trace.guards.add(None, "distinct", tuple(firsts.values()))
