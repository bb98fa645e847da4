"""How real objects become values: a table by their type.

`@wraps(slice)` registers what makes the value of a slice, a function of the trace, the object and
its source (None if the object has none). It adds the guards that make the value true at the next
call. Objects of other types are told apart in `outside/wrapping.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.compiler.core import Value

Wrap = Callable[[Any, Any, Any], Value]
WRAPPERS: dict[type, Wrap] = {}


def wraps(*kinds: type) -> Callable[[Wrap], Wrap]:
    """Register how objects of exactly these types become values."""

    def register(fn: Wrap) -> Wrap:
        for kind in kinds:
            if WRAPPERS.get(kind, fn) is not fn:
                raise KeyError(f"{kind!r} is wrapped already")
            WRAPPERS[kind] = fn
        return fn

    return register


NAMED_WRAPPERS: dict[str, Wrap] = {}


def wraps_named(*names: str) -> Callable[[Wrap], Wrap]:
    """The same for types by their dotted names, whose modules are not imported for that."""

    def register(fn: Wrap) -> Wrap:
        NAMED_WRAPPERS.update(dict.fromkeys(names, fn))
        return fn

    return register
