"""Functions of the math module on symbolic numbers; on others they are folded."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from suture import rules
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.compiler.torch.float_symbols import question_on_data
from suture.compiler.torch.symbols import symbol_round
from suture.torch_private import operators

# What torch can say about a symbolic float.
_NODES = {
    math.sqrt: operators.sym_sqrt, math.sin: operators.sym_sin, math.cos: operators.sym_cos,
    math.tan: operators.sym_tan, math.asin: operators.sym_asin, math.acos: operators.sym_acos,
    math.atan: operators.sym_atan, math.sinh: operators.sym_sinh, math.cosh: operators.sym_cosh,
    math.tanh: operators.sym_tanh, math.log2: operators.sym_log2,
}  # fmt: skip
# Where the real function does not raise, compared with 0.
_DOMAIN = {math.sqrt: ">=", math.log2: ">"}
# Raise outside of some range, or overflow.
_BOUNDED = frozenset({math.asin, math.acos, math.sinh, math.cosh})


def _symbols(args: list[Value]) -> bool:
    return any(isinstance(a, Symbol) for a in args)


def _plainly(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """As the rules say, which is to fold it."""
    return abstract.by_verdict(
        trace, rules.lookup(real), real, abstract.wrap(trace, real, None), args, kwargs
    )


def _unary(real: Any) -> None:
    node = _NODES[real]

    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if len(args) == 1 and isinstance(args[0], Tensor):
            args = [abstract.tensor_to_number(trace, args[0], "__float__")]
        if len(args) != 1 or kwargs or not _symbols(args) or real in _BOUNDED:
            return _plainly(trace, real, args, kwargs)
        if real in _DOMAIN and not abstract.truth(
            trace, abstract.compare(trace, _DOMAIN[real], args[0], Constant(0))
        ):
            return _plainly(trace, real, args, kwargs)
        return abstract.call_torch(trace, node, [args[0]], {})

    handles(real)(handler)


for _real in _NODES:
    _unary(_real)


def _rounding(real: object, kind: str) -> None:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if len(args) == 1 and not kwargs and isinstance(args[0], Symbol):
            return symbol_round(trace, args[0], kind)
        return _plainly(trace, real, args, kwargs)

    handles(real)(handler)


_rounding(math.floor, "floor")
_rounding(math.ceil, "ceil")
_rounding(math.trunc, "int")


@handles(math.pow)
def _pow(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 2 or kwargs or not _symbols(args):
        return _plainly(trace, math.pow, args, kwargs)
    if not abstract.truth(trace, abstract.compare(trace, ">", args[0], Constant(0))):
        return _plainly(trace, math.pow, args, kwargs)
    return abstract.call_torch(trace, operator.pow, [_as_float(trace, a) for a in args], {})


def _as_float(trace: Trace, value: Value) -> Value:
    if isinstance(value, Symbol):
        return (
            value
            if value.python_type() is float
            else abstract.call_torch(trace, torch.sym_float, [value], {})
        )
    return Constant(float(value.constant()))


def _question(real: Any, answer: bool) -> None:
    """Symbolic numbers are neither infinite nor NaN: ints by nature, floats by their guard."""

    def handler(trace: Trace, args: list[Value], kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            question_on_data(trace, args[0], f"{real.__name__}()")
        if (
            len(args) == 1
            and not kwargs
            and isinstance(args[0], Symbol)
            and args[0].source is not None
        ):
            return Constant(answer)
        if len(args) == 1 and isinstance(args[0], Symbol) and args[0].python_type() is int:
            return Constant(answer)
        return _plainly(trace, real, args, kwargs)

    handles(real)(handler)


for _real, _answer in ((math.isnan, False), (math.isinf, False), (math.isfinite, True)):
    _question(_real, _answer)
