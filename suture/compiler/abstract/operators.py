"""Operators, comparison, truth, conversion, hash."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def binary(trace: Trace, name: str, left: Any, right: Any) -> Any:
    """`left <op> right`; `name` is a function of the operator module, "iadd" and so on too."""


@declared
def builtin_part(trace: Trace, obj: Any) -> Any:
    """A list, tuple, dict... behind an object of a derived class, or behind a constant."""


@declared
def compare(trace: Trace, symbol: str, left: Any, right: Any) -> Any: ...


@declared
def constant_value(trace: Trace, variable: Any) -> Any:
    """The Python value of something made of constants, or Break."""


@declared
def convert_value(trace: Trace, value: Any, how: str) -> Any:
    """str(), repr() or ascii() of a value."""


@declared
def integer(trace: Trace, variable: Any) -> int:
    """The value of something used as an index or count."""


@declared
def known(trace: Trace, value: Any) -> Any:
    """The variable of a value computed while tracing from constants."""


@declared
def negate(trace: Trace, variable: Any) -> Any: ...


@declared
def object_hash_key(trace: Trace, obj: Value) -> Any:
    """Something hashable that compares as the object does."""


@declared
def object_truth(trace: Trace, obj: Value) -> bool: ...


@declared
def plain_keys(trace: Trace, keys: Any) -> bool:
    """Whether looking up these real keys runs no code of the program."""


@declared
def same_or_equal(trace: Trace, left: Any, right: Any) -> bool:
    """What `in`, `index` and `==` of containers ask: identical, or equal and true."""


@declared
def sort(trace: Trace, items: list[Any], key: Any, reverse: Any) -> None:
    """Put the items in order by the comparisons the program would make; if one raises, they
    are left as far as Python has come."""


@declared
def special_method(trace: Trace, obj: Any, method: str, other: Any) -> Any:
    """The result of a special method, or None if there is none or it does not apply."""


@declared
def to_bool(trace: Trace, variable: Any) -> Any:
    """`bool(variable)` as a value; stays symbolic where it can."""


@declared
def truth(trace: Trace, variable: Any) -> bool:
    """The truth of a value, or Break where only its data tells."""
