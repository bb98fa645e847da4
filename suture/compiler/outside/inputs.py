"""Which numbers of the inputs are symbols: sizes, strides, ints and floats that may change."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from suture import _core
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.graph.bounds import bounds_of
from suture.compiler.graph.known_numbers import make_known, number_of
from suture.compiler.graph.names import TorchName
from suture.compiler.guards.number_sources import NumberSource
from suture.compiler.objects import Symbol, Tensor
from suture.compiler.outside.identity import owner_of
from suture.dynamic import NO_MARKS, Marks, check_marks
from suture.runtime.reads import as_double, number_in
from suture.runtime.sources import Source
from suture.torch_private import symbolic_shapes

_LARGEST = 2**62  # symbolic arithmetic is in 64 bits; numbers near its end stay constants
_MOST_SYMBOLS = 256  # more numbers than this are data: comparing them as symbols takes too long


@dataclass(slots=True)
class TensorPlan:
    """Which sizes of an input are symbolic. `context` is what torch wants to know of it."""

    context: Any = None
    marks: Marks = field(default=NO_MARKS)

    def spec(self, value: torch.Tensor, fake: torch.Tensor) -> Any:
        """The guard on the tensor itself: what is a symbol in `fake` is left to expressions."""
        sizes = tuple([i for i, n in enumerate(fake.shape) if not isinstance(n, int)])
        strides = tuple([i for i, n in enumerate(fake.stride()) if not isinstance(n, int)])
        return _core.TensorSpec(value, dynamic_sizes=sizes, dynamic_strides=strides)


def tensor_plan(
    trace: Trace, value: torch.Tensor, source: Source, marks: Marks, ragged: Any = ()
) -> TensorPlan:
    """Decide which sizes are symbolic: those seen to change, marked by the user, or `ragged`,
    which differ with every nested tensor."""
    path = source.path()
    moving = trace.region.history.dynamic_sizes(trace.region.plan, path, value) | set(ragged)
    if marks:
        check_marks(value, marks, path)
        moving = (moving | marks.maybe) - marks.static
    if not moving and not marks.dynamic and not marks.unbacked:
        if trace.region.history.dynamic_strides(trace.region.plan, path, value):
            return TensorPlan(symbolic_shapes.static_context(value, moving_strides=True), marks)
        return TensorPlan()
    kinds = [_kind(trace, i, moving, marks) for i in range(value.dim())]
    constraints = [
        symbolic_shapes.range_constraint(marks.dynamic[i].min, marks.dynamic[i].max)
        if i in marks.dynamic
        else None
        for i in range(value.dim())
    ]
    bounds = {i: (r.min, r.max) for i, r in marks.unbacked.items()}
    context = symbolic_shapes.symbolic_context(
        dynamic_sizes=kinds, constraint_sizes=constraints, unbacked_bounds=bounds or None,
        view_base_context=symbolic_shapes.base_context(value),
    )  # fmt: skip
    return TensorPlan(context, marks)


def _kind(trace: Trace, i: int, moving: set[int], marks: Marks) -> symbolic_shapes.DimDynamic:
    if i in marks.unbacked:
        return symbolic_shapes.DimDynamic.UNBACKED
    if i in marks.dynamic:
        return symbolic_shapes.DimDynamic.DYNAMIC
    if i not in moving:
        return symbolic_shapes.DimDynamic.STATIC
    return (
        symbolic_shapes.DimDynamic.DUCK
        if trace.region.plan.dynamic
        else symbolic_shapes.DimDynamic.DYNAMIC
    )


def note_input(trace: Trace, made: Tensor, plan: TensorPlan) -> None:
    note_sizes(trace, made.value, made.known_source, plan)


def note_sizes(trace: Trace, fake: torch.Tensor, source: Source, plan: TensorPlan) -> None:
    """Remember where the symbols of an input's sizes come from."""
    if not symbolic_shapes.has_symbols(fake):
        return
    for i, size in enumerate(fake.shape):
        if symbolic_shapes.is_symbolic(size) and not symbolic_shapes.is_ragged(size):
            trace.numbers.number_sources.append(
                NumberSource(source, "size", i, size, plan.marks.dynamic.get(i))
            )
    for i, stride in enumerate(fake.stride()):
        if symbolic_shapes.is_symbolic(stride) and not symbolic_shapes.is_ragged(stride):
            trace.numbers.number_sources.append(NumberSource(source, "stride", i, stride))
    offset = fake.storage_offset()
    if isinstance(offset, torch.SymInt):
        trace.numbers.number_sources.append(NumberSource(source, "storage_offset", 0, offset))


def note_known(trace: Trace, made: Tensor, value: torch.Tensor) -> None:
    """A module's buffer of one number: that is known until it is seen to change."""
    path, number = f"{made.known_source.path()}.item()", value.item()
    if not trace.region.history.same_number(path, number):
        return
    make_known(trace.graph.fake, made.value, value)
    trace.graph.known[made.node] = (made.source, number)


@implements(abstract.known_number)
def known_number(trace: Trace, tensor: Tensor) -> int | float | complex | bool | None:
    number = number_of(tensor.value)
    if number is not None:
        trace.graph.decide([tensor.node])
    elif tensor.node is not None and tensor.value.dtype is torch.bool:
        bounds = bounds_of(tensor.node)
        if bounds is not None and bounds[0] == bounds[1] and tensor.value.numel() == 1:
            return bool(bounds[0])
    return number


def guard_numbers(trace: Trace, inputs: list[Any]) -> None:
    for source, number in inputs:
        trace.guards.add(source.call(number_in), "equals", number)


def wrap_number(trace: Trace, value: Any, source: Source) -> Value | None:
    """A symbol for a number that changes from call to call; None to specialise."""
    steady = abstract.is_fixed(trace, source) or owner_of(trace, source) is not None
    if not trace.region.history.dynamic_number(trace.region.plan, source.path(), value, steady):
        return None
    if type(value) is float:
        return _symbolic_float(trace, value, source)
    if abs(value) >= _LARGEST or len(trace.numbers.number_sources) >= _MOST_SYMBOLS:
        return None
    symint = trace.graph.shape_env.create_unspecified_symint_and_symbol(
        value, TorchName(source.path()), symbolic_shapes.DimDynamic.DYNAMIC
    )
    if isinstance(symint, int):
        return None
    trace.guards.add(source, "int")
    node = trace.graph.add_input(source, symint, symint)
    trace.numbers.number_sources.append(NumberSource(source, "int", 0, symint))
    return Symbol(node, symint, source)


def _symbolic_float(trace: Trace, value: float, source: Source) -> Value | None:
    """The float goes into the graph as a tensor of one double, which every backend takes."""
    if not math.isfinite(value) or (value == 0.0 and math.copysign(1.0, value) < 0):
        return None  # symbols know no sign of zero
    symfloat = symbolic_shapes.symbolic_float(
        trace.graph.shape_env, value, TorchName(source.path())
    )
    real = as_double(value)
    fake = trace.graph.fake.from_tensor(real, static_shapes=True)
    fake.item_memo = symfloat
    trace.guards.add(source, "float")
    node = trace.graph.add_input(source, real, fake, convert=as_double)
    item = trace.graph.node(
        "call_method", "item", (node,), {}, symfloat, outermost=True, counted=False
    )
    trace.numbers.number_sources.append(NumberSource(source, "float", 0, symfloat))
    return Symbol(item, symfloat, source)
