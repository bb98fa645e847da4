"""Symbolic floats: decided is what Python's floats do, which round and may be NaN or infinite.
sympy, behind torch's symbols, knows real numbers: there `y + 1 > y`, and `y - y` is 0."""

from __future__ import annotations

import math
from typing import Any

import torch

from suture.breaks import Break, control_flow
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.graph.names import TorchName
from suture.compiler.language.operators import COMPARE
from suture.compiler.objects import Constant, Symbol
from suture.torch_private import symbolic_shapes

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_ROUNDED_ABOVE = 2**53  # the next int is no double
_MOST_STEPS = 200  # of the computation that a guard may have to do again


@implements(abstract.computed_number)
def computed_number(trace: Trace, real: Any, args: list[Value]) -> Value | None:
    values = [a.value for a in args if isinstance(a, (Symbol, Constant))]
    if len(values) < len(args) or not any(isinstance(v, torch.SymFloat) for v in values):
        return None
    known = [v.node.hint if isinstance(v, _SYMBOLIC) else v for v in values]
    if any(n is None and isinstance(v, _SYMBOLIC) for n, v in zip(known, values)):
        return None  # from data
    if _steps(trace, values, _MOST_STEPS) >= _MOST_STEPS:
        return None
    try:
        result = real(*known)
    except Exception:
        return None
    if type(result) is bool:
        trace.graph.truths.append((real, values, result))
        return Constant(result)
    if type(result) not in (int, float) or (type(result) is int and abs(result) >= 2**62):
        return None
    name = TorchName(getattr(real, "__name__", "number"))
    made = symbolic_shapes.symbolic_number(trace.graph.shape_env, result, name)
    if made is None:
        return None
    trace.graph.computed[symbolic_shapes.expression(made)] = (real, values)
    proxies = tuple(abstract.proxy(trace, a) for a in args)
    return Symbol(trace.graph.node("call_function", real, proxies, {}, made), made)


def _steps(trace: Trace, values: Any, most: int) -> int:
    """How many functions compute these numbers, counted as often as a guard calls them; no more
    than `most`."""
    count = 0
    for value in values:
        if isinstance(value, _SYMBOLIC):
            for symbol in symbolic_shapes.expression(value).free_symbols:
                found = trace.graph.computed.get(symbol)
                if found is not None and count < most:
                    count += 1 + _steps(trace, found[1], most - count - 1)
    return count


def is_rounded(left: Any, right: Any) -> bool:
    """Whether an operation is to be done with the floats themselves: one of them was computed from
    changing numbers, so that sympy would simplify both operations to one as if nothing were rounded
    ((a + b) - a is not b), or is infinite or no number."""
    if float not in (left.python_type(), right.python_type()):
        return False
    if any(v.is_constant() and not math.isfinite(v.constant()) for v in (left, right)):
        return True
    return any(isinstance(v, Symbol) and _is_computed(v) for v in (left, right))


def _is_computed(value: Any) -> bool:
    return isinstance(value.value, torch.SymFloat) and not _expression(value).is_Symbol


def _expression(value: Any) -> Any:
    return symbolic_shapes.expression(value.value)


def compared_floats(trace: Trace, symbol: str, left: Any, right: Any) -> Value | None:
    """What a comparison of floats says, guarded by doing it again; None where sympy may answer: of
    one float as it came, next to a number that is no large int, and of what only the running graph
    knows."""
    if float not in (left.python_type(), right.python_type()):
        return None
    trace.graph.decides_floats = True
    if comes_from_data(trace, left) or comes_from_data(trace, right):
        if _is_settled(COMPARE[symbol][0], left.value, right.value):
            raise _decision_on(trace, [left, right], "compared with a number")
        return None
    computed = any(isinstance(v, Symbol) and _is_computed(v) for v in (left, right))
    if not (computed or is_exact(left, right)):
        return None
    return computed_number(trace, COMPARE[symbol][0], [left, right])


def is_exact(left: Any, right: Any) -> bool:
    """Whether this compares an int with a float in a way that a double in the int's place may not
    answer. Python compares the two exactly; torch's symbols round the int, which tells nothing else
    next to a number that is no larger than the ints which doubles have all of."""
    if {left.python_type(), right.python_type()} != {int, float}:
        return False
    known = [v.constant() for v in (left, right) if v.is_constant()]
    return not known or not abs(known[0]) < _ROUNDED_ABOVE  # which no NaN is


def _is_settled(compare: Any, left: Any, right: Any) -> bool:
    """Whether sympy has an answer for a comparison of numbers that come from data. It is that of
    real numbers: NaN is not what it is, and infinite ones are beyond it."""
    try:
        bool(compare(left, right))
    except symbolic_shapes.GuardOnDataDependentSymNode:
        return False
    except Exception:  # of sympy's ranges, where one of them ends in no number
        return True
    return True


def comes_from_data(trace: Trace, value: object) -> bool:
    """Whether this is a float from data, of which nothing is known while tracing."""
    if not isinstance(value, Symbol) or not isinstance(value.value, torch.SymFloat):
        return False
    return _is_of_data(trace, _expression(value))


def _is_of_data(trace: Trace, expression: Any) -> bool:
    known = trace.graph.shape_env.backed_var_to_val
    return any(s not in known for s in expression.free_symbols)


def keeps_data(trace: Trace, real: Any, left: Any, right: Any) -> None:
    """Break before an operation on a float from data whose result sympy takes for a number that it
    knows: `y - y` is 0 only if `y` is finite."""
    if comes_from_data(trace, left) or comes_from_data(trace, right):
        made = real(left.value, right.value)
        if isinstance(made, torch.SymFloat) and not _is_of_data(
            trace, symbolic_shapes.expression(made)
        ):
            raise _decision_on(trace, [left, right], "computed without it")


def question_on_data(trace: Trace, symbol: Any, question: str) -> None:
    """Break if whether a float is NaN or infinite is asked of one that comes from data."""
    trace.graph.decides_floats = True
    if comes_from_data(trace, symbol):
        raise _decision_on(trace, [symbol], question)


def _decision_on(trace: Trace, numbers: list[Any], text: str) -> Break:
    known = trace.graph.origins
    symbols = (_expression(n).free_symbols for n in numbers if isinstance(n, Symbol))
    used = sorted((s for s in set().union(*symbols) if s in known), key=str)
    origins_text = [
        f'{name} comes from File "{at[0]}", line {at[1]}'
        for name, at in (known[s] for s in used)
        if at
    ]
    subject = ", ".join(known[s][0] for s in used) or "a number"
    origin = ", ".join(origins_text) or "a tensor"
    return Break(control_flow.UNBACKED_DECISION, expression=f"{subject} {text}", origin=origin)
