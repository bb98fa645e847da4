"""Arguments, bound to the parameters of a function in Python."""

from __future__ import annotations

from typing import Any

from suture.bytecode import decode
from suture.compiler.calls.arguments import refused_function
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, Dict, Tuple


def bind_arguments(trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> list[Any]:
    """The arguments in the function's slots, as CPython binds them."""
    slots = slots_of(trace, fn, args, kwargs)
    return slots if slots is not None else refused_function(trace, fn, args, kwargs)


def slots_of(
    trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]
) -> list[Any] | None:
    """The same; None if these are not arguments for the function."""
    code = fn.code
    names = code.co_varnames
    npos, nkw = code.co_argcount, code.co_kwonlyargcount
    slots: list[Any] = [None] * len(decode(code).localsplus)
    given = len(args)
    slots[: min(given, npos)] = args[:npos]
    at = npos + nkw
    if code.co_flags & 0x04:
        slots[at] = Tuple(args[npos:])
        at += 1
    elif given > npos:
        return None
    extra: dict[Any, tuple[Any, Any]] = {}
    if kwargs and not _bind_keywords(trace, fn, kwargs, slots, names, extra):
        return None
    if code.co_flags & 0x08:
        slots[at] = Dict(extra)
    if given < npos:
        first = npos - fn.default_count
        for i in range(given, npos):
            if slots[i] is None:
                if i < first:
                    return None
                slots[i] = fn.default(trace, i - first)
    for i in range(npos, npos + nkw):
        if slots[i] is None:
            slots[i] = fn.kwdefault(trace, names[i])
            if slots[i] is None:
                return None
    return slots


def _bind_keywords(
    trace: Trace, fn: Any, kwargs: dict[str, Value], slots: Any, names: Any, extra: Any
) -> bool:
    code = fn.code
    indices = {
        names[i]: i
        for i in range(code.co_posonlyargcount, code.co_argcount + code.co_kwonlyargcount)
    }
    for name, value in kwargs.items():
        i = indices.get(name)
        if i is not None:
            if slots[i] is not None:
                return False
            slots[i] = value
        elif code.co_flags & 0x08:
            extra[name] = (Constant(name), value)
        else:
            return False
    return True
