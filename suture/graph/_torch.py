"""The private parts of torch that the graph room stands on; tried on torch 2.11 to 2.13."""

from __future__ import annotations

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
    ShapeEnv,
    StatelessSymbolicContext,
)

__all__ = [
    "DataDependentOutputException",
    "DimDynamic",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "StatelessSymbolicContext",
    "TorchSource",
    "TracingContext",
    "UnsupportedOperatorException",
    "tracing",
]
