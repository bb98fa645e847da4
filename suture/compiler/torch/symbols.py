"""Symbolic numbers: sizes and scalars that may differ from call to call."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from suture import config
from suture.breaks import Break, control_flow
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls.folding import constant_method
from suture.compiler.core import Trace, Value
from suture.compiler.graph.bounds import bounds_of
from suture.compiler.language.operators import COMPARE, real_operator, unary_operator
from suture.compiler.objects import Constant, Symbol, Tensor, tensor
from suture.compiler.objects import tensor as tensor_values
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.outside.growth import is_unstable, unstable_value
from suture.compiler.torch.float_symbols import (
    comes_from_data,
    compared_floats,
    computed_number,
    is_exact,
    is_rounded,
    keeps_data,
)
from suture.torch_private import symbolic_shapes


@implements(abstract.specialise)
def specialise(trace: Trace, symbol: Symbol) -> Any:
    value = symbol.value
    hint = getattr(value.node, "hint", None) if isinstance(value, torch.SymInt) else None
    if type(hint) is int:  # not one of data, nor the length of a ragged dimension
        if is_unstable(trace, symbol.source, hint, config.recompile_limit - 2):
            raise unstable_value(trace, symbol.known_source)
    try:
        if isinstance(value, torch.SymInt):
            return int(value)
        if isinstance(value, torch.SymFloat):
            known = float(value)
            if known == 0.0 and symbol.source is not None:
                trace.guards.add(symbol.source, "equals", known)  # and not -0.0
            return known
        return bool(value)
    except symbolic_shapes.GuardOnDataDependentSymNode as error:
        raise unbacked_decision(trace, error) from None


@implements(tensor_values.symbol_truth)
def symbol_truth(trace: Trace, symbol: Symbol) -> bool:
    value = symbol.value
    if isinstance(value, torch.SymFloat):
        told = compared_floats(trace, "!=", symbol, Constant(0))
        if told is not None:
            return bool(told.constant())
    try:
        if isinstance(value, torch.SymBool):
            return bool(value)
        return bool(value != 0)
    except symbolic_shapes.GuardOnDataDependentSymNode as error:
        raise unbacked_decision(trace, error) from None


@implements(abstract.to_bool, Symbol)
def symbol_to_bool(trace: Trace, variable: Symbol) -> Value:
    if isinstance(variable.value, torch.SymBool):
        return variable
    return symbol_compare(trace, "!=", variable, Constant(0))


@implements(abstract.negate, Symbol)
def symbol_not(trace: Trace, variable: Symbol) -> Value:
    truth = symbol_to_bool(trace, variable)
    if truth.is_constant():
        return Constant(not truth.constant())
    return abstract.call_torch(trace, torch.sym_not, [truth], {})


@implements(abstract.integer, Symbol)
def symbol_integer(trace: Trace, variable: Symbol) -> int:
    if variable.python_type() is float:
        abstract.raise_(trace, TypeError, "'float' object cannot be interpreted as an integer")
    return int(abstract.specialise(trace, variable))


@implements(abstract.number_of, Symbol)
def symbol_number(trace: Trace, value: Symbol, kind: type, method: str) -> Value:
    if value.python_type() is kind:
        return value
    if value.python_type() is bool or kind is complex:
        return Constant(kind(abstract.specialise(trace, value)))
    target = torch.sym_float if kind is float else torch.sym_int
    return abstract.call_torch(trace, target, [value], {})


def holds_symbols(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether an operation is handed symbolic numbers as arguments of their own."""
    return any(isinstance(value, Symbol) for value in (*args, *kwargs.values()))


def decided(
    trace: Trace, args: list[Value], kwargs: dict[str, Value]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of an operation that takes plain numbers only, such as a flag: truth values are
    decided, which guards the comparison; where there are none, the numbers themselves."""
    every = [*args, *kwargs.values()]
    truths = any(isinstance(v, Symbol) and v.python_type() is bool for v in every)

    def plain(value: Any) -> Any:
        if isinstance(value, Symbol) and (not truths or value.python_type() is bool):
            return Constant(abstract.constant_value(trace, value))
        return value

    return [plain(v) for v in args], {k: plain(v) for k, v in kwargs.items()}


def symbol_binary(trace: Trace, name: str, left: Value, right: Value) -> Value:
    name = {"and": "and_", "or": "or_"}.get(name, name)
    if bool in _kinds(left, right) and not (name in _LOGIC and _kinds(left, right) == {bool}):
        return _with_numbers(trace, lambda a, b: abstract.binary(trace, name, a, b), left, right)
    left, right = _as_numbers(left, right)
    by_zero = name in _DIVISIONS and right.is_constant() and right.constant() == 0
    large = _is_large(left) or _is_large(right) or _makes_large(name, left, right)
    if by_zero or large or complex in _kinds(left, right):
        return _fold_known(trace, real_operator(name), left, right)
    if name == "divmod":
        from suture.compiler.objects import Tuple

        return Tuple(
            [
                abstract.binary(trace, "floordiv", left, right),
                abstract.binary(trace, "mod", left, right),
            ]
        )
    if name in _LOGIC and _kinds(left, right) == {bool}:
        return _node(trace, getattr(operator, name), left, right)
    if name in ("lshift", "rshift", "and_", "or_", "xor") and not _plain_bits(
        trace, name, left, right
    ):
        return _fold_known(trace, getattr(operator, name), left, right)
    if is_rounded(left, right):
        made = computed_number(trace, getattr(operator, name), [left, right])
        if made is not None:
            return made
        if not (comes_from_data(trace, left) or comes_from_data(trace, right)):
            return _fold_known(trace, getattr(operator, name), left, right)
    keeps_data(trace, getattr(operator, name), left, right)
    return _node(trace, getattr(operator, name), left, right)


def _with_numbers(trace: Trace, operate: Callable[..., Value], left: Any, right: Any) -> Value:
    """An operation in which a truth value counts as 0 or 1, which to symbols it does not."""
    as_int = [
        Constant(int(abstract.constant_value(trace, v))) if v.python_type() is bool else v
        for v in (left, right)
    ]
    return operate(*as_int)


def _plain_bits(trace: Trace, name: str, left: Value, right: Value) -> bool:
    """Whether torch's operation on symbols means what Python's does: on ints, and shifts by
    no less than nothing."""
    if _kinds(left, right) != {int}:
        return False
    return "shift" not in name or bool(
        abstract.truth(trace, abstract.compare(trace, ">=", right, Constant(0)))
    )


def symbol_compare(trace: Trace, symbol: str, left: Any, right: Any) -> Value:
    left, right = _as_numbers(left, right)
    if _is_large(right) and left.source is not None and left.python_type() is int:
        return Constant(COMPARE[symbol][0](left.value.node.hint, right.constant()))
    if complex in _kinds(left, right) or _is_large(left) or _is_large(right):
        return _fold_known(trace, COMPARE[symbol][0], left, right)
    if bool in _kinds(left, right):
        return _with_numbers(trace, lambda a, b: abstract.compare(trace, symbol, a, b), left, right)
    if trace.numbers.draws and isinstance(left, Symbol):
        decided = abstract.compare_drawn(trace, symbol, left, right)
        if decided is not None:
            return decided
    told = compared_floats(trace, symbol, left, right)
    if told is not None:
        return told
    data = comes_from_data(trace, left) or comes_from_data(trace, right)
    if is_exact(left, right) and not data:
        return _fold_known(trace, COMPARE[symbol][0], left, right)
    return _node(trace, COMPARE[symbol][0], left, right)


def _fold_known(trace: Trace, real: object, left: object, right: object) -> Value:
    """What torch's symbols do not know, done with the numbers they stand for."""
    return abstract.fold(
        trace, real, [Constant(abstract.constant_value(trace, v)) for v in (left, right)], {}
    )


def _node(trace: Trace, real: object, *operands: Value) -> Value:
    return abstract.call_torch(trace, real, list(operands), {})


def unbacked_decision(trace: Trace, error: Any) -> Break:
    """The break for a decision that torch refused: it names the number and its line."""
    origins = trace.graph.origins
    used = sorted((s for s in error.cond.free_symbols if s in origins), key=str)
    names = {s: origins[s][0] for s in used}
    origins_text = [
        f'{name} comes from File "{at[0]}", line {at[1]}'
        for name, at in (origins[s] for s in used)
        if at
    ]
    from suture.compiler.guards.shapes import expression_text

    expression = expression_text(error.cond, names)
    origin = ", ".join(origins_text) or "a size marked unbacked"
    return Break(control_flow.UNBACKED_DECISION, expression=expression, origin=origin)


@implements(tensor.symbol_method)
def symbol_method(
    trace: Trace, symbol: Symbol, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    kind = symbol.python_type()
    if name in ("__index__", "__int__", "__trunc__") and kind is int:
        return symbol
    if name == "is_integer" and kind is float and not args:
        return abstract.fold(trace, float.is_integer, [symbol], {})
    if name in ("conjugate", "as_integer_ratio", "bit_length", "is_integer", "hex", "to_bytes"):
        known = Constant(kind(specialise(trace, symbol)))
        return constant_method(trace, known, name, args, kwargs)
    if name == "__float__":
        return abstract.call_torch(trace, torch.sym_float, [symbol], {})
    if name == "__int__":
        return abstract.call_torch(trace, torch.sym_int, [symbol], {})
    plain = name.strip("_")
    if plain in ("neg", "pos", "abs", "invert"):
        return unary_operator(trace, plain, symbol)
    if hasattr(operator, plain) and len(args) == 1:
        return abstract.call_torch(trace, getattr(operator, plain), [symbol, *args], {})
    known = Constant(kind(specialise(trace, symbol)))
    return constant_method(trace, known, name, args, kwargs)


def number_from_data(trace: Trace, tensor: Tensor, method: str) -> Value | None:
    """The number in a one-element tensor, as a symbol that has no value while tracing. None if
    there is no such symbol: Python asks the tensor."""
    dtype = tensor.value.dtype
    if dtype.is_complex or method == "__complex__":
        return None
    if method == "__index__" and dtype.is_floating_point:
        return None  # torch raises
    count = tensor.value.numel()
    if isinstance(count, int) and count != 1:
        return None
    try:
        asked = tensor
        if dtype is torch.bool and method in ("__int__", "__index__", "__float__"):  # 1, not True
            asked = known_tensor(abstract.add_node(trace, "call_method", "long", [tensor], {}))
        made = abstract.add_node(trace, "call_method", "item", [asked], {})
    except Break:
        return None
    if isinstance(made, Symbol) and made.python_type() is int:
        bounds = bounds_of(tensor.node)
        if bounds is not None:
            symbolic_shapes.constrain_range(made.value, min=int(bounds[0]), max=int(bounds[1]))
    if method == "__float__" and made.python_type() is int:
        return abstract.call_torch(trace, torch.sym_float, [made], {})
    if method in ("__int__", "__index__") and made.python_type() is float:
        return abstract.call_torch(trace, torch.sym_int, [made], {})
    return made


def symbol_round(trace: Trace, symbol: Symbol, kind: str) -> Value:
    """int(), round(), math.floor() and so on of a symbolic number."""
    if symbol.python_type() is int:
        return symbol
    return abstract.call_torch(trace, _ROUNDING[kind], [symbol], {})


def _is_large(value: Any) -> bool:
    """Whether a number is too large for the 64 bits that symbols are made for."""
    return value.is_constant() and type(value.constant()) is int and abs(value.constant()) >= 2**62


def _makes_large(name: str, left: Any, right: Any) -> bool:
    """Whether an operation on ints gives a number that is too large for symbols."""
    if name not in ("mul", "pow", "lshift") or _kinds(left, right) != {int}:
        return False
    one, other = (
        v.value.node.hint if isinstance(v, Symbol) else v.constant() for v in (left, right)
    )
    if one is None or other is None:
        return False
    if name == "mul":
        return bool(abs(one * other) >= 2**62)
    bits = int(one).bit_length()
    if name == "lshift":
        return bool(bits + other > 62)
    return bool(bits * other > 62 and abs(one) > 1)


def _as_numbers(left: Any, right: Any) -> tuple[Any, Any]:
    """Both sides, with True and False next to a number as the numbers they are: sympy knows them as
    something else."""
    if _kinds(left, right) <= {bool}:
        return left, right
    return _plain_number(left), _plain_number(right)


def _plain_number(value: Any) -> Any:
    truth = value.is_constant() and value.python_type() is bool
    return Constant(int(value.constant())) if truth else value


def _kinds(*variables: Any) -> set[type]:
    return {v.python_type() for v in variables}


_LOGIC = ("and_", "or_", "xor")
_DIVISIONS = frozenset({"mod", "floordiv", "truediv", "divmod"})
_ROUNDING: dict[str, Any] = {
    "int": torch.sym_int, "floor": math.floor, "ceil": math.ceil, "round": round,
}  # fmt: skip
