"""The private parts of torch that the graph room stands on; tried on torch 2.11 to 2.13."""

from __future__ import annotations

from typing import Any

from torch._guards import Source as TorchSource
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    PendingUnbackedSymbolNotFound,
    RelaxedUnspecConstraint,
    ShapeEnv,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    compute_unbacked_bindings,
)
from torch.fx.passes.runtime_assert import insert_deferred_runtime_asserts
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

__all__ = [
    "DataDependentOutputException",
    "DimDynamic",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "GuardOnDataDependentSymNode",
    "PendingUnbackedSymbolNotFound",
    "ShapeEnv",
    "StatelessSymbolicContext",
    "TorchSource",
    "TracingContext",
    "UnsupportedOperatorException",
    "compute_unbacked_bindings",
    "insert_deferred_runtime_asserts",
    "range_constraint",
    "static_context",
    "symbolic_float",
    "tracing",
]


def range_constraint(low: int | None, high: int | None) -> Any:
    """What torch wants to know of a size marked dynamic: not constant, and its range if given."""
    if low is None and high is None:
        return RelaxedUnspecConstraint(warn_only=False)
    bounds = ValueRanges(lower=0 if low is None else low, upper=int_oo if high is None else high)
    return StrictMinMaxConstraint(vr=bounds, warn_only=False)


def static_context(tensor: Any) -> Any:
    """All sizes are constants."""
    kinds = [DimDynamic.STATIC] * tensor.dim()
    return StatelessSymbolicContext(dynamic_sizes=kinds, constraint_sizes=[None] * tensor.dim())


def symbolic_float(shape_env: Any, value: float, source: TorchSource) -> Any:
    """A SymFloat that stands for the float read at `source`; `value` is what it is now."""
    symbol = shape_env.create_unspecified_symbol(
        value, source=source, dynamic_dim=DimDynamic.DYNAMIC
    )
    return shape_env.create_symfloatnode(symbol, hint=value, source=source)
