"""Declarations, and the bodies that they get.

`@declared` is for an operation with one body. `@dispatched` is for one whose body depends on the
class of the value it is about, as a slot of a type in CPython does: `@implements(operation)` gives
the body for any value, `@implements(operation, List, Tuple)` that for values of these classes and
of those derived from them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from suture.compiler.core import Trace

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = "suture.compiler.abstract"
_UNBOUND: dict[str, Callable[..., Any]] = {}


def declared(fn: Callable[P, R]) -> Callable[P, R]:
    """Declare an operation. It has no body until a room implements it: whoever has taken the
    declaration itself, with `from ... import name`, and calls it, is told so."""

    @functools.wraps(fn)
    def without_body(*args: P.args, **kwargs: P.kwargs) -> R:
        raise TypeError(f"{fn.__name__} is only declared: call it through {fn.__module__}")

    _UNBOUND[fn.__name__] = without_body
    return without_body


def dispatched(fn: F) -> F:
    """Declare an operation on the value that is its second parameter, behind the trace: the body
    is that of the nearest class of the value which has one."""
    bodies: dict[type, Callable[..., Any]] = {}
    found: dict[type, Callable[..., Any]] = {}

    @functools.wraps(fn)
    def dispatch(trace: Trace, value: Any, /, *args: Any) -> Any:
        kind = type(value)
        body = found.get(kind)
        if body is None:
            body = found[kind] = next(bodies[base] for base in kind.__mro__ if base in bodies)
        return body(trace, value, *args)

    def add(kind: type, body: Callable[..., Any]) -> None:
        if kind in bodies:
            raise KeyError(f"{fn.__name__} has a body for {kind.__name__} already")
        bodies[kind] = body
        found.clear()

    dispatch.add = add  # type: ignore[attr-defined]
    _UNBOUND[fn.__name__] = dispatch
    return cast(F, dispatch)


def implements(declaration: Callable[..., Any], *kinds: type) -> Callable[[F], F]:
    """The decorated function is the body of `declaration`, and has its parameters; with `kinds`,
    its body for values of these classes."""
    name = declaration.__name__
    if not kinds and _UNBOUND.pop(name, None) is not declaration:
        raise KeyError(f"{name} is no declared operation, or has a body already")
    add = getattr(declaration, "add", None)
    if kinds and add is None:
        raise KeyError(f"{name} is no operation that is dispatched")

    def bind(fn: F) -> F:
        wanted, given = (tuple(inspect.signature(f).parameters) for f in (declaration, fn))
        if wanted != given:
            raise TypeError(f"{fn.__qualname__}{given} does not fit {name}{wanted}")
        if add is not None:
            for kind in kinds or (object,):
                add(kind, fn)
            return fn
        setattr(sys.modules[declaration.__module__], name, fn)
        if declaration.__module__.startswith(_PACKAGE):
            setattr(sys.modules[_PACKAGE], name, fn)
        return fn

    return bind


def unbound() -> list[str]:
    """The operations without a body for any value: none, once all rooms are loaded."""
    return sorted(_UNBOUND)
