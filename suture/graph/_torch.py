"""The private parts of torch that the graph room stands on; tried on torch 2.11 to 2.13.

What needs sympy is imported when it is first used: importing it takes longer than importing all
of suture.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import linecache
import math
from collections.abc import Iterator
from typing import Any

from torch import SymBool, SymInt
from torch._C import DisableTorchFunctionSubclass
from torch._C import _EnableTorchFunction as enable_torch_function
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import Source as TorchSource
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

__all__ = [
    "DataDependentOutputException",
    "DisableTorchFunctionSubclass",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "SymBool",
    "SymInt",
    "TorchDispatchMode",
    "TorchSource",
    "TracingContext",
    "UnsupportedOperatorException",
    "base_context",
    "enable_python_dispatcher",
    "enable_torch_function",
    "forget_source",
    "is_ragged",
    "is_traceable_wrapper_subclass",
    "pytree",
    "range_constraint",
    "size_symbols",
    "static_context",
    "symbolic_context",
    "symbolic_float",
    "tracing",
    "wrapper_context",
]

_SHAPES = "torch.fx.experimental.symbolic_shapes"
_LAZY = {
    "DimDynamic": _SHAPES,
    "GuardOnDataDependentSymNode": _SHAPES,
    "PendingUnbackedSymbolNotFound": _SHAPES,
    "RelaxedUnspecConstraint": _SHAPES,
    "ShapeEnv": _SHAPES,
    "StatelessSymbolicContext": _SHAPES,
    "StrictMinMaxConstraint": _SHAPES,
    "SubclassSymbolicContext": _SHAPES,
    "compute_unbacked_bindings": _SHAPES,
    "constrain_range": _SHAPES,
    "insert_deferred_runtime_asserts": "torch.fx.passes.runtime_assert",
    "int_oo": "torch.utils._sympy.numbers",
    "lstm_impl": "torch._decomp.decompositions",
    "ValueRanges": "torch.utils._sympy.value_ranges",
}


def __getattr__(name: str) -> Any:
    home = _LAZY.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(home), name)
    return found


def range_constraint(low: int | None, high: int | None) -> Any:
    """What torch wants to know of a size marked dynamic: not constant, and its range if given."""
    if low is None and high is None:
        return __getattr__("RelaxedUnspecConstraint")(warn_only=False)
    top = __getattr__("int_oo") if high is None else high
    bounds = __getattr__("ValueRanges")(lower=0 if low is None else low, upper=top)
    return __getattr__("StrictMinMaxConstraint")(vr=bounds, warn_only=False)


def static_context(tensor: Any, moving_strides: bool = False) -> Any:
    """All sizes are constants, those of what it is a view of too; strides may be symbols."""
    kind = __getattr__("DimDynamic")
    return symbolic_context(
        dynamic_sizes=[kind.STATIC] * tensor.dim(),
        dynamic_strides=[kind.DYNAMIC if moving_strides else kind.INFER_STRIDE] * tensor.dim(),
        constraint_sizes=[None] * tensor.dim(),
        view_base_context=base_context(tensor),
    )


def base_context(tensor: Any) -> Any:
    """What a plain tensor is a view of has constant sizes; None for other tensors."""
    if not tensor._is_view() or is_traceable_wrapper_subclass(tensor._base):
        return None
    return static_context(tensor._base)


def symbolic_context(**facts: Any) -> Any:
    """Which sizes of an input are symbols; facts that this torch does not know are left out."""
    made = __getattr__("StatelessSymbolicContext")
    known = made.__dataclass_fields__
    return made(**{name: value for name, value in facts.items() if name in known})


def wrapper_context(source: TorchSource, outer: Any, inner: dict[str, Any]) -> Any:
    """Which sizes of a wrapper subclass are symbols: of itself, and of its inner tensors."""
    made = __getattr__("SubclassSymbolicContext")
    return made(
        dynamic_sizes=outer.dynamic_sizes,
        constraint_sizes=outer.constraint_sizes,
        tensor_source=source,
        inner_contexts=inner,
    )


def size_symbols(shape_env: Any, path: str) -> list[tuple[int, Any]]:
    """The symbols that were made for the sizes of the tensor called `path`, which the tensor itself
    may not show: (dimension, symbolic int)."""
    found = []
    for symbol, sources in shape_env.var_to_sources.items():
        for source in sources:
            prop = getattr(source, "prop", None)
            hint = shape_env.backed_var_to_val[symbol]
            if not hint.is_Integer:
                continue
            if getattr(prop, "name", "") == "SIZE" and source.base.name == path:
                hint = int(hint)
                made = shape_env.create_symintnode(symbol, hint=hint, source=source)
                found.append((source.idx, made))
    return found


def is_ragged(size: Any) -> bool:
    """Whether a size is that of the pieces of a nested tensor, which is no number, or is computed
    from such a one."""
    if not isinstance(size, SymInt):
        return False
    if size.node.is_nested_int():
        return True
    if not size.node.is_symbolic():
        return False
    values = size.node.shape_env.backed_var_to_val
    return any(not values[s].is_Integer for s in size.node.expr.free_symbols if s in values)


def symbolic_float(shape_env: Any, value: float, source: TorchSource) -> Any:
    """A SymFloat that stands for the float read at `source`; `value` is what it is now."""
    dynamic = __getattr__("DimDynamic").DYNAMIC
    symbol = shape_env.create_unspecified_symbol(value, source=source, dynamic_dim=dynamic)
    return shape_env.create_symfloatnode(symbol, hint=value, source=source)


@contextlib.contextmanager
def sizes_from_zero(wanted: bool) -> Iterator[None]:
    """Symbolic sizes may be 0 and 1 too, and are not taken to be: for what grows from there."""
    config = importlib.import_module("torch.fx.experimental._config")
    if wanted and hasattr(config, "backed_size_oblivious"):
        with config.patch(backed_size_oblivious=True):
            yield
    else:
        yield


def symbolic_number(shape_env: Any, value: Any, source: TorchSource) -> Any:
    """A SymInt or a SymFloat for a number that is `value` now; None if there is none."""
    if type(value) is float:
        return symbolic_float(shape_env, value, source) if math.isfinite(value) else None
    dynamic = __getattr__("DimDynamic").DYNAMIC
    made = shape_env.create_unspecified_symint_and_symbol(value, source, dynamic)
    return None if isinstance(made, int) else made


def expression(value: Any) -> Any:
    """The sympy expression of a SymInt, SymFloat or SymBool, as it was when it was made."""
    return value.node._expr


def forget_source(module: Any) -> None:
    """Drop the text that torch.fx keeps of a graph module's code for as long as the process runs.

    Tracebacks through the module, should anybody still hold it, then show no source lines.
    """
    from torch.fx import graph_module

    loader = getattr(graph_module, "_loader", None)
    name = getattr(getattr(module.forward, "__code__", None), "co_filename", "")
    if name.startswith("<eval_with_key>"):
        linecache.cache.pop(name, None)
        if loader is not None:
            loader.eval_cache.pop(name, None)


@functools.cache
def torch_numpy() -> Any:
    """torch's implementation of NumPy, imported when a program first needs it."""
    return importlib.import_module("torch._numpy")
