"""The private parts of torch that the guards room stands on; tried on torch 2.11 to 2.13."""

from __future__ import annotations

from typing import Any

import sympy
from torch.utils._sympy.functions import (
    CleanDiv,
    FloorDiv,
    Max,
    Min,
    Mod,
    ModularIndexing,
    PowByNatural,
    PythonMod,
)
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter

__all__ = [
    "CleanDiv",
    "FloorDiv",
    "Max",
    "Min",
    "Mod",
    "ModularIndexing",
    "PowByNatural",
    "PythonMod",
    "PythonPrinter",
    "expression",
    "follows_from_ranges",
    "int_oo",
    "interpreter",
    "symbol_range",
]


def expression(value: Any) -> Any:
    """The sympy expression of a SymInt, SymFloat or SymBool, as it was when it was made."""
    return value.node._expr


def symbol_range(shape_env: Any, symbol: Any) -> tuple[Any, Any] | None:
    """The lowest and the highest value a symbol may have; None where nothing is known."""
    found = shape_env.var_to_range.get(symbol)
    return None if found is None else (found.lower, found.upper)


def follows_from_ranges(shape_env: Any, expr: Any) -> bool:
    """Whether the ranges of its symbols alone make the expression true."""
    if shape_env.replace(expr) != expr:
        return False
    return shape_env._maybe_evaluate_static(expr, axioms=()) == sympy.true


def is_nested_int(number: Any) -> bool:
    """Whether this stands for the lengths of a nested tensor's pieces: which tensors have the same
    is said by guards on the tensors they are read from."""
    return type(number).__name__ == "SingletonInt"


def interpreter() -> dict[str, Any]:
    """The names that PythonPrinter's text may use."""
    from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP

    return dict(SYMPY_INTERP)
