"""Which callables have a handler of their own.

`@handles(len)` registers by identity: the handler gets (trace, args, kwargs), values all, and gives
the result. `@special("graph_break")` registers under the name a rule's verdict carries.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from suture.bytecode import Code

Handler = Callable[..., Any]

# id -> (object, handler); the object is kept so that its id stays its own.
_HANDLED: dict[int, tuple[Any, Handler]] = {}
SPECIAL: dict[str, Handler] = {}
_BY_CODE: dict[int, tuple[Any, Handler]] = {}


def handles(*callables: Any) -> Callable[[Handler], Handler]:
    """Register a handler for these callables: fn(trace, args, kwargs)."""

    def register(fn: Handler) -> Handler:
        for target in callables:
            if id(target) in _HANDLED:
                raise KeyError(f"{target!r} is handled already")
            _HANDLED[id(target)] = (target, fn)
        return fn

    return register


def special(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler under names that verdicts carry: fn(trace, target, args, kwargs)."""

    def register(fn: Handler) -> Handler:
        for name in names:
            if name in SPECIAL:
                raise KeyError(f"{name} is handled already")
            SPECIAL[name] = fn
        return fn

    return register


def handles_code(code: types.CodeType) -> Callable[[Handler], Handler]:
    """Register a handler for every function with this code: fn(trace, function, args, kwargs)."""

    def register(fn: Handler) -> Handler:
        _BY_CODE[id(code)] = (code, fn)
        return fn

    return register


def handler_of_code(code: Code) -> Handler | None:
    found = _BY_CODE.get(id(code))
    return found[1] if found is not None else None


def handler_of(target: object) -> Handler | None:
    found = _HANDLED.get(id(target))
    return found[1] if found is not None else None
