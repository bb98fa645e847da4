"""The functions of the operator module."""

from __future__ import annotations

import operator
from typing import Any

from suture.bytecode.common import BINARY
from suture.calls.table import handles
from suture.variables import Constant, Symbol


def _operator(name: str) -> None:
    handles(getattr(operator, name))(lambda tx, args, kwargs: tx.binary(name, args[0], args[1]))


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
        lambda tx, args, kwargs, s=_symbol: tx.compare(s, args[0], args[1])
    )
for _name in ("neg", "pos", "invert", "abs"):
    handles(getattr(operator, _name))(lambda tx, args, kwargs, n=_name: tx.unary(n, args[0]))


@handles(operator.getitem)
def _getitem(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.tail_getitem(args[0], args[1])


@handles(operator.setitem)
def _setitem(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.setitem(args[0], args[1], args[2])
    return Constant(None)


@handles(operator.delitem)
def _delitem(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.delitem(args[0], args[1])
    return Constant(None)


@handles(operator.contains)
def _contains(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.contains(args[0], args[1])


@handles(operator.not_)
def _not(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.negate(tx.to_bool(args[0]))


@handles(operator.truth)
def _truth(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.to_bool(args[0])


@handles(operator.is_)
def _is(tx: Any, args: Any, kwargs: Any) -> Any:
    return Constant(tx.same(args[0], args[1]))


@handles(operator.is_not)
def _is_not(tx: Any, args: Any, kwargs: Any) -> Any:
    return Constant(not tx.same(args[0], args[1]))


@handles(operator.index)
def _index(tx: Any, args: Any, kwargs: Any) -> Any:
    return args[0] if isinstance(args[0], Symbol) else Constant(tx.integer(args[0]))
