"""Keys of dicts and elements of sets: hashing them, and what is said where they have no hash."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls
from suture.bytecode import unhashable
from suture.compiler import abstract
from suture.compiler.core import Raised, Trace

DICT_KEY, SET_ELEMENT = "dict key", "set element"


def hashed(trace: Trace, value: Any, role: str) -> Any:
    """`value.hash_key(tx)`; a TypeError is told in the words of this Python, which may name the
    `role` that the value was to have."""
    try:
        return value.hash_key(trace)
    except Raised as raised:
        exc = raised.exception
        if unhashable(TypeError, "", role) is None or exc.python_type() is not TypeError:
            raise
        args = list(getattr(exc, "args", ()))
        if len(args) != 1 or not args[0].is_constant():
            raise Break(calls.C_FUNCTION, function="hash") from None
        text = unhashable(value.python_type(), str(args[0].constant()), role)
    return abstract.raise_(trace, TypeError, text)
