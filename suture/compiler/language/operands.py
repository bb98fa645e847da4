"""Operands of operators: which side comes first, and the error when both decline."""

from __future__ import annotations

import operator
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING
from suture.compiler.objects import Constant, Sequence
from suture.compiler.objects.array import Array

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "** or pow()", "matmul": "@", "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|",
    "xor": "^", "divmod": "divmod()",
}  # fmt: skip

_REFLECTED = {"add": "__radd__", "mul": "__rmul__"}


def reflected_first(trace: Trace, name: str, left: Value, right: Value) -> Value | None:
    """What the right operand of `+=` or `*=` returns before the left one is tried; None if nothing.

    Lists and deques are no numbers to CPython: it tries a number's operator first, which only
    the other side may have.
    """
    if name not in _REFLECTED or left.python_type() not in (list, deque) or right.is_constant():
        return None
    if abstract.type_lookup(trace, right.python_type(), _REFLECTED[name]) is MISSING:
        return None
    return abstract.special_method(trace, right, _REFLECTED[name], left)


def spreads_over(number: Any, items: Iterable[Value]) -> bool:
    """Whether NumPy compares a number of its own with each of these items."""
    if not isinstance(items, Sequence):
        return False
    if isinstance(number, Array):
        return number.is_scalar
    return type(number) is Constant and type(number.value).__module__ == "numpy"


def repeats(kinds: tuple[type, type]) -> bool:
    """Whether `*` asks the other operand of a sequence how often to repeat it, which a tensor of
    one integer says and another refuses to."""
    return any(
        issubclass(one, _SEQUENCES) and hasattr(other, "__index__")
        for one, other in (kinds, kinds[::-1])
    )


def unsupported(trace: Trace, name: str, kinds: tuple[type, type], in_place: bool) -> Value:
    """The TypeError of operands that know nothing of each other."""
    symbol = SYMBOLS.get(name, name)
    if in_place:
        symbol = symbol.split()[0] + "="
    left, right = map(type_name, kinds)
    if name == "rshift" and kinds[0] is types.BuiltinFunctionType:  # `print >> file` is told more
        raise Break(objects.UNKNOWN_OPERATOR, operator=symbol, operands=f"{left}, {right}")
    if name in ("add", "mul") and any(issubclass(kind, _SEQUENCES) for kind in kinds):
        return abstract.raise_(trace, TypeError, _words_of_sequences(name, kinds, in_place))
    return abstract.raise_(
        trace, TypeError, f"unsupported operand type(s) for {symbol}: '{left}' and '{right}'"
    )


_SEQUENCES = (str, bytes, bytearray, list, tuple)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def _words_of_sequences(name: str, kinds: tuple[type, type], in_place: bool) -> str:
    """What a sequence says to another operand than it takes: CPython asks it last."""
    one, other = map(_stand_in, kinds)
    if name == "mul" and not (kinds[0].__flags__ & _HEAP_TYPE or hasattr(kinds[0], "__contains__")):
        in_place = False  # without slots of sequences the left one is not asked
    try:
        getattr(operator, "i" + name if in_place else name)(one, other)
    except TypeError as error:
        return str(error)
    raise AssertionError(f"{kinds} can be put together")


def _stand_in(kind: type) -> Any:
    """An empty object of a name, and a sequence if objects of this class are one."""
    if kind in _SEQUENCES:
        return kind()
    base = next((base for base in _SEQUENCES if issubclass(kind, base)), object)
    return type(type_name(kind), (base,), {})()
