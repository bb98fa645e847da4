"""Operators, comparison, truth, conversion, hash."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def binary(trace: Trace, name: str, left: object, right: Value) -> Value:
    """`left <op> right`; `name` is a function of the operator module, "iadd" and so on too."""


@declared
def builtin_part(trace: Trace, obj: object) -> Value:
    """A list, tuple, dict... behind an object of a derived class, or behind a constant."""


@declared
def compare(trace: Trace, symbol: str, left: object, right: object) -> Any: ...


@declared
def constant_value(trace: Trace, variable: object) -> Any:
    """The Python value of something made of constants, or Break."""


@declared
def convert_value(trace: Trace, value: object, how: str) -> Any:
    """str(), repr() or ascii() of a value."""


@declared
def integer(trace: Trace, variable: object) -> int:
    """The value of something used as an index or count."""


@declared
def known(trace: Trace, value: object) -> Any:
    """The variable of a value computed while tracing from constants."""


@declared
def negate(trace: Trace, variable: object) -> Value: ...


@declared
def object_hash_key(trace: Trace, obj: Value) -> Value:
    """Something hashable that compares as the object does."""


@declared
def object_truth(trace: Trace, obj: Value) -> bool: ...


@declared
def plain_keys(trace: Trace, keys: object) -> bool:
    """Whether looking up these real keys runs no code of the program."""


@declared
def same_or_equal(trace: Trace, left: object, right: object) -> bool:
    """What `in`, `index` and `==` of containers ask: identical, or equal and true."""


@declared
def sort(trace: Trace, items: list[Any], key: Value | None, reverse: Value | None) -> None:
    """Put the items in order by the comparisons the program would make; if one raises, they
    are left as far as Python has come."""


@declared
def special_method(trace: Trace, obj: Value, method: str, other: Value) -> Value | None:
    """The result of a special method, or None if there is none or it does not apply."""


@declared
def to_bool(trace: Trace, variable: object) -> Value:
    """`bool(variable)` as a value; stays symbolic where it can."""


@declared
def truth(trace: Trace, variable: object) -> bool:
    """The truth of a value, or Break where only its data tells."""
