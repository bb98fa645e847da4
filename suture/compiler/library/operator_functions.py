"""The functions of the operator module."""

from __future__ import annotations

import operator

from suture.bytecode.common import BINARY
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.items import del_item
from suture.compiler.language.operators import unary_operator
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Symbol
from suture.compiler.outside.identity import asked_same


def _operator(name: str) -> None:
    handles(getattr(operator, name))(
        lambda trace, args, kwargs: abstract.binary(trace, name, args[0], args[1])
    )


for _name in BINARY:
    _operator(_name)
for _name, _symbol in (
    ("lt", "<"),
    ("le", "<="),
    ("eq", "=="),
    ("ne", "!="),
    ("gt", ">"),
    ("ge", ">="),
):
    handles(getattr(operator, _name))(
        lambda trace, args, kwargs, s=_symbol: abstract.compare(trace, s, args[0], args[1])
    )
for _name in ("neg", "pos", "invert", "abs"):
    handles(getattr(operator, _name))(
        lambda trace, args, kwargs, n=_name: unary_operator(trace, n, args[0])
    )


@handles(operator.getitem)
def _getitem(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.tail_getitem(trace, args[0], args[1])


@handles(operator.setitem)
def _setitem(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    abstract.set_item(trace, args[0], args[1], args[2])
    return Constant(None)


@handles(operator.delitem)
def _delitem(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    del_item(trace, args[0], args[1])
    return Constant(None)


@handles(operator.contains)
def _contains(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.contains(trace, args[0], args[1])


@handles(operator.not_)
def _not(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.negate(trace, abstract.to_bool(trace, args[0]))


@handles(operator.truth)
def _truth(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.to_bool(trace, args[0])


@handles(operator.is_)
def _is(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(asked_same(trace, args[0], args[1]))


@handles(operator.is_not)
def _is_not(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(not asked_same(trace, args[0], args[1]))


@handles(operator.index)
def _index(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0] if isinstance(args[0], Symbol) else Constant(abstract.integer(trace, args[0]))
