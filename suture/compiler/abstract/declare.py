"""Declarations, and the bodies that take their place."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = "suture.compiler.abstract"
_UNBOUND: dict[str, Callable[..., Any]] = {}


def declared(fn: F) -> F:
    """Declare an operation. It has no body until a room implements it: whoever has taken the
    declaration itself, with `from ... import name`, and calls it, is told so."""

    @functools.wraps(fn)
    def without_body(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{fn.__name__} is only declared: call it through {fn.__module__}")

    _UNBOUND[fn.__name__] = without_body
    return cast(F, without_body)


def implements(declaration: Callable[..., Any]) -> Callable[[F], F]:
    """The decorated function is the body of `declaration`, and has its parameters."""
    name = declaration.__name__
    if _UNBOUND.pop(name, None) is not declaration:
        raise KeyError(f"{name} is no declared operation, or has a body already")

    def bind(fn: F) -> F:
        wanted, given = (tuple(inspect.signature(f).parameters) for f in (declaration, fn))
        if wanted != given:
            raise TypeError(f"{fn.__qualname__}{given} does not fit {name}{wanted}")
        setattr(sys.modules[declaration.__module__], name, fn)
        if declaration.__module__.startswith(_PACKAGE):
            setattr(sys.modules[_PACKAGE], name, fn)
        return fn

    return bind


def unbound() -> list[str]:
    """The operations without a body: none, once all rooms are loaded."""
    return sorted(_UNBOUND)
