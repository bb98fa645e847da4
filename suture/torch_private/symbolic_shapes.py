"""Symbolic sizes: torch's shape environment, and the sympy expressions it speaks in.

What needs sympy is looked up when it is first used: importing it takes longer than importing all
of suture.
"""

from __future__ import annotations

import contextlib
import linecache
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import torch

from suture.torch_private import tensor_parts
from suture.torch_private.table import Topic

_SHAPES = "torch.fx.experimental.symbolic_shapes"
_FUNCTIONS = "torch.utils._sympy.functions"

NAMES = Topic(
    __name__,
    "sizes and numbers that are symbols",
    "2.11-2.15",
    {
        "DimDynamic": f"{_SHAPES}.DimDynamic",
        "GuardOnDataDependentSymNode": f"{_SHAPES}.GuardOnDataDependentSymNode",
        "PendingUnbackedSymbolNotFound": f"{_SHAPES}.PendingUnbackedSymbolNotFound",
        "RelaxedUnspecConstraint": f"{_SHAPES}.RelaxedUnspecConstraint",
        "ShapeEnv": f"{_SHAPES}.ShapeEnv",
        "StatelessSymbolicContext": f"{_SHAPES}.StatelessSymbolicContext",
        "StrictMinMaxConstraint": f"{_SHAPES}.StrictMinMaxConstraint",
        "SubclassSymbolicContext": f"{_SHAPES}.SubclassSymbolicContext",
        "SYMPY_INTERP": f"{_SHAPES}.SYMPY_INTERP",
        "compute_unbacked_bindings": f"{_SHAPES}.compute_unbacked_bindings",
        "constrain_range": f"{_SHAPES}.constrain_range",
        "has_free_unbacked_symbols": f"{_SHAPES}.has_free_unbacked_symbols",
        "CleanDiv": f"{_FUNCTIONS}.CleanDiv",
        "FloorDiv": f"{_FUNCTIONS}.FloorDiv",
        "Max": f"{_FUNCTIONS}.Max",
        "Min": f"{_FUNCTIONS}.Min",
        "Mod": f"{_FUNCTIONS}.Mod",
        "ModularIndexing": f"{_FUNCTIONS}.ModularIndexing",
        "PowByNatural": f"{_FUNCTIONS}.PowByNatural",
        "PythonMod": f"{_FUNCTIONS}.PythonMod",
        "PythonPrinter": "torch.utils._sympy.printers.PythonPrinter",
        "ValueRanges": "torch.utils._sympy.value_ranges.ValueRanges",
        "bound_sympy": "torch.utils._sympy.value_ranges.bound_sympy",
        "int_oo": "torch.utils._sympy.numbers.int_oo",
        "insert_deferred_runtime_asserts": (
            "torch.fx.passes.runtime_assert.insert_deferred_runtime_asserts"
        ),
        "config": "torch.fx.experimental._config",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def tell_lines(shape_env: Any, where: Callable[[], tuple[str, int] | None]) -> None:
    """Let torch's log `dynamic` show the program's line, which `where` knows, with each symbol and
    each decision. torch looks for it in TorchDynamo's stack, which is empty."""
    if not logging.getLogger(_SHAPES).isEnabledFor(logging.INFO):
        return
    summary = shape_env._get_stack_summary

    def with_line(is_debug: bool = False, framework_loc: str | None = None) -> Any:
        location, extra = summary(is_debug, framework_loc)
        at = where()
        if at is not None and location.maybe_user_loc is None:
            line = linecache.getline(*at).strip()
            location = type(location)(framework_loc or "suture", f"{line}  # {at[0]}:{at[1]}")
        return location, extra

    shape_env._get_stack_summary = with_line


def range_constraint(low: int | None, high: int | None) -> Any:
    """What torch wants to know of a size marked dynamic: not constant, and its range if given."""
    if low is None and high is None:
        return NAMES.get("RelaxedUnspecConstraint")(warn_only=False)
    top = NAMES.get("int_oo") if high is None else high
    bounds = NAMES.get("ValueRanges")(lower=0 if low is None else low, upper=top)
    return NAMES.get("StrictMinMaxConstraint")(vr=bounds, warn_only=False)


def static_context(tensor: Any, moving_strides: bool = False) -> Any:
    """All sizes are constants, those of what it is a view of too; strides may be symbols."""
    kind = NAMES.get("DimDynamic")
    return symbolic_context(
        dynamic_sizes=[kind.STATIC] * tensor.dim(),
        dynamic_strides=[kind.DYNAMIC if moving_strides else kind.INFER_STRIDE] * tensor.dim(),
        constraint_sizes=[None] * tensor.dim(),
        view_base_context=base_context(tensor),
    )


def base_context(tensor: Any) -> Any:
    """What a plain tensor is a view of has constant sizes; None for other tensors."""
    if not tensor._is_view() or tensor_parts.is_traceable_wrapper_subclass(tensor._base):
        return None
    return static_context(tensor._base)


def symbolic_context(**facts: Any) -> Any:
    """Which sizes of an input are symbols; facts that this torch does not know are left out."""
    made = NAMES.get("StatelessSymbolicContext")
    known = made.__dataclass_fields__
    return made(**{name: value for name, value in facts.items() if name in known})


def wrapper_context(source: Any, outer: Any, inner: dict[str, Any]) -> Any:
    """Which sizes of a wrapper subclass are symbols: of itself, and of its inner tensors."""
    made = NAMES.get("SubclassSymbolicContext")
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


def is_symbolic(size: object) -> TypeGuard[torch.SymInt]:
    """Whether a size or a stride is an expression. torch declares all of them to be int."""
    return isinstance(size, torch.SymInt)


def has_symbols(tensor: torch.Tensor) -> bool:
    """Whether a size, a stride or the offset of a tensor is an expression."""
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    return not _INTS.issuperset(map(type, numbers))


_INTS = frozenset({int})


def is_ragged(size: Any) -> bool:
    """Whether a size is that of the pieces of a nested tensor, which is no number, or is computed
    from such a one."""
    if not isinstance(size, torch.SymInt):
        return False
    if size.node.is_nested_int():
        return True
    if not size.node.is_symbolic():
        return False
    values = size.node.shape_env.backed_var_to_val
    return any(not values[s].is_Integer for s in size.node.expr.free_symbols if s in values)


def symbolic_float(shape_env: Any, value: float, source: Any) -> Any:
    """A SymFloat that stands for the float read at `source`; `value` is what it is now."""
    dynamic = NAMES.get("DimDynamic").DYNAMIC
    symbol = shape_env.create_unspecified_symbol(value, source=source, dynamic_dim=dynamic)
    return shape_env.create_symfloatnode(symbol, hint=value, source=source)


def is_open(number: Any) -> bool:
    """Whether a number is a symbol of which no guard says what it is."""
    kinds = (torch.SymInt, torch.SymFloat)
    return isinstance(number, kinds) and not number.node.expr.is_number


@contextlib.contextmanager
def sizes_from_zero(wanted: bool) -> Iterator[None]:
    """Symbolic sizes may be 0 and 1 too, and are not taken to be: for what grows from there."""
    config = NAMES.get("config")
    if wanted and hasattr(config, "backed_size_oblivious"):
        with config.patch(backed_size_oblivious=True):
            yield
    else:
        yield


def symbolic_number(shape_env: Any, value: Any, source: Any) -> Any:
    """A SymInt or a SymFloat for a number that is `value` now; None if there is none."""
    if type(value) is float:
        return symbolic_float(shape_env, value, source) if math.isfinite(value) else None
    dynamic = NAMES.get("DimDynamic").DYNAMIC
    made = shape_env.create_unspecified_symint_and_symbol(value, source, dynamic)
    return None if isinstance(made, int) else made


def expression(value: Any) -> Any:
    """The sympy expression of a SymInt, SymFloat or SymBool, as it was when it was made."""
    return value.node._expr


def expression_now(value: Any) -> Any:
    """The same, with what has become known of its symbols since."""
    return value.node.expr


def symbol_range(shape_env: Any, symbol: Any) -> tuple[Any, Any] | None:
    """The lowest and the highest value a symbol may have; None where nothing is known."""
    found = shape_env.var_to_range.get(symbol)
    return None if found is None else (found.lower, found.upper)


def follows_from_ranges(shape_env: Any, expr: Any) -> bool:
    """Whether the ranges of its symbols alone make the expression true."""
    if shape_env.replace(expr) != expr:
        return False
    import sympy

    return bool(shape_env._maybe_evaluate_static(expr, axioms=()) == sympy.true)


def numbers_from_data(value: Any) -> list[Any]:
    """The symbols in a SymInt or SymBool that only data give a value."""
    known = value.node.shape_env.backed_var_to_val
    return [symbol for symbol in value.node.expr.free_symbols if symbol not in known]


def truth_without(value: Any, size: Any, above: tuple[Any, ...] = ()) -> bool | None:
    """What a SymBool is where the symbol `size` is 0, if it is the opposite wherever that is more;
    None if it is not plain. The symbols `above` are more than 0."""
    expr = value.node.expr
    try:
        without = expr.xreplace({size: size - size})
    except ZeroDivisionError:  # the program raises there
        return None
    empty = _bounds(value, without, above)
    if empty is None or _bounds(value, expr, (*above, size)) is not (not empty):
        return None
    return empty


def truth_above(value: Any, above: tuple[Any, ...]) -> bool | None:
    """What a SymBool is wherever the symbols `above` are more than 0; None if that is open."""
    return _bounds(value, value.node.expr, above)


def _bounds(value: Any, expr: Any, above: tuple[Any, ...]) -> bool | None:
    made = NAMES.get("ValueRanges")
    ranges = dict(value.node.shape_env.var_to_range)
    for symbol in above:
        ranges[symbol] = made(lower=1, upper=ranges[symbol].upper)
    found = NAMES.get("bound_sympy")(expr, ranges)
    return bool(found.lower) if found.is_bool and found.is_singleton() else None


class OfData:
    """What a shape environment has taken for granted of numbers from data."""

    def __init__(self, shape_env: Any) -> None:
        self.ranges = dict(shape_env.var_to_range)
        self.asserts = {s: len(given) for s, given in shape_env.deferred_runtime_asserts.items()}

    def holds_without(self, shape_env: Any, zeros: dict[Any, Any]) -> bool:
        """Whether what was taken for granted since then is true where symbols are 0, for which
        `zeros` has that number."""
        known = shape_env.backed_var_to_val
        for symbol, bounds in self.ranges.items():
            if symbol not in known and shape_env.var_to_range.get(symbol) != bounds:
                return False
        added = [
            one.expr
            for symbol, given in shape_env.deferred_runtime_asserts.items()
            for one in given[self.asserts.get(symbol, 0) :]
        ]
        try:
            return all(expr.xreplace(zeros) == True for expr in added)  # noqa: E712
        except ZeroDivisionError:
            return False


def is_nested_int(number: Any) -> bool:
    """Whether this stands for the lengths of a nested tensor's pieces: which tensors have the same
    is said by guards on the tensors they are read from."""
    return type(number).__name__ == "SingletonInt"


def interpreter() -> dict[str, Any]:
    """The names that PythonPrinter's text may use."""
    return dict(NAMES.get("SYMPY_INTERP"))
