"""`pickle.dumps` of what is known while tracing, as caches that are keyed by arguments use it."""

from __future__ import annotations

import pickle
from typing import Any

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant

# Pickled by their value alone.
_NUMBERS = (type(None), bool, int, float)


@handles(pickle.dumps)
def dumps(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 1 or kwargs:
        raise _refused()
    return Constant(pickle.dumps(_Known(trace).of(args[0])))


def _refused() -> Break:
    return Break(calls.C_FUNCTION, function="dumps")


class _Known:
    """Makes the Python value of constants in lists, tuples and dicts. A pickle says which objects
    occur twice, so that nothing may that could be one object in some calls and two in others."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.seen: list[Any] = []

    def of(self, value: Value) -> Any:
        if value.is_constant():
            return self._of_constant(value.constant())
        kind = value.python_type()
        if kind in (list, dict):
            if any(value is other for other in self.seen):
                raise _refused()
            self.seen.append(value)
        if kind is dict:
            pairs = abstract.dict_pairs(self.trace, value)
            return {self.of(key): self.of(item) for key, item in pairs}
        if kind not in (list, tuple):
            raise _refused()
        items = [self.of(item) for item in abstract.unpack(self.trace, value)]
        return items if kind is list else self._once(tuple(items))

    def _of_constant(self, value: Any) -> Any:
        kind = type(value)
        if kind in _NUMBERS:
            return value
        if kind is tuple:
            return self._once(tuple(self._of_constant(item) for item in value))
        if kind not in (str, bytes):
            raise _refused()
        return self._once(value)

    def _once(self, value: Any) -> Any:
        """`value`, of which there may be no equal one so far; there is only one empty tuple."""
        if value == ():
            return value
        if any(type(value) is type(other) and value == other for other in self.seen):
            raise _refused()
        self.seen.append(value)
        return value
