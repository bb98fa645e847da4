"""Operators, comparison, truth, conversion, hash."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared, dispatched
from suture.compiler.core import Trace, Value


@declared
def binary(trace: Trace, name: str, left: object, right: Value) -> Value:
    """`left <op> right`; `name` is a function of the operator module, "iadd" and so on too."""


@declared
def builtin_part(trace: Trace, obj: Value) -> Value:
    """A list, tuple, dict... behind an object of a derived class, or behind a constant."""


@declared
def compare(trace: Trace, symbol: str, left: object, right: object) -> Value:
    """`left <symbol> right` for ==, !=, <, <=, > and >=: a constant, a symbol, a tensor, or what
    the program's method gives."""


@declared
def constant_value(trace: Trace, variable: object) -> Any:
    """The Python value of something made of constants, or Break."""


@dispatched
def convert_value(trace: Trace, value: object, how: str) -> Value:
    """str(), repr() or ascii() of a value."""


@dispatched
def format_value(trace: Trace, value: object, spec: Value | None) -> Value:
    """`format(value, spec)`, and a field of an f-string."""


@dispatched
def hash_of(trace: Trace, value: Value) -> Value:
    """`hash(value)`, for what is known well enough."""


@dispatched
def integer(trace: Trace, variable: object) -> int:
    """The value of something used as an index or count."""


@declared
def known(trace: Trace, value: object) -> Value:
    """The value of a real object computed while tracing from constants."""


@dispatched
def negate(trace: Trace, variable: object) -> Value:
    """`not variable` as a value; stays symbolic where it can."""


@dispatched
def number_of(trace: Trace, value: object, kind: type, method: str) -> Value:
    """`kind(value)` for int, float and complex, whose special method is `method`."""


@dispatched
def operator_slot(trace: Trace, obj: Value, method: str, other: Value) -> Value | None:
    """What a special method of two operands gives that the class of the value does not list among
    its methods; None, or NotImplemented, if there is none or it does not apply."""


@declared
def plain_keys(trace: Trace, keys: object) -> bool:
    """Whether looking up these real keys runs no code of the program."""


@declared
def same_or_equal(trace: Trace, left: object, right: object) -> bool:
    """The equality of `in`, `index` and `==` of containers: identical, or equal and true."""


@declared
def special_method(trace: Trace, obj: Value, method: str, other: Value) -> Value | None:
    """The result of a special method, or None if there is none or it does not apply."""


@dispatched
def to_bool(trace: Trace, variable: object) -> Value:
    """`bool(variable)` as a value; stays symbolic where it can."""


@declared
def truth(trace: Trace, variable: object) -> bool:
    """The truth of a value, or Break where only its data tells."""
