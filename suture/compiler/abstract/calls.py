"""Calling any object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value
from suture.compiler.models import Handler
from suture.rules import Verdict


@declared
def all_known(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether every argument is a constant."""


@declared
def builtin_method(
    trace: Trace,
    method: Handler,
    obj: Value,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
) -> Value:
    """Run one of our own `m_` methods; wrong arguments are the program's TypeError."""


@declared
def by_verdict(
    trace: Trace,
    verdict: Verdict,
    real: object,
    fn: Any,
    args: list[Value],
    kwargs: dict[str, Value],
) -> Value:
    """Call `real` (whose value is `fn`) as the rules say: inlined, as a node, folded, by a handler,
    or Break for Python to run. May leave a frame."""


@declared
def call(trace: Trace, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call and come back with the result."""


@declared
def call_method(trace: Trace, obj: Value, name: str, *args: Value) -> Value:
    """`obj.name(*args)`, done."""


@declared
def call_now(trace: Trace, real: object, values: list[Any], named: dict[str, Any]) -> Value:
    """Call a pure function now. An iterator that it gives is made again by each call of the
    variant that needs it."""


@declared
def call_type_method(
    trace: Trace, obj: object, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Call `type(obj).name(obj, ...)`, as operators and calls do."""


@declared
def fold(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a pure function now; its arguments must be known, or be floats that change."""


@declared
def folded(trace: Trace, thunk: Callable[[], Any]) -> Value:
    """The result of a pure computation on known values, or the exception it raised."""


@declared
def handle(
    trace: Trace, handler: Handler, real: object, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Run a handler, if the arguments are such that it can."""


@declared
def has_visible_effects(trace: Trace) -> bool:
    """Whether real objects are not yet what the traced program has made of them."""


@declared
def inline(trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A frame for the function, bound to its arguments; a generator is only made."""


@declared
def refused(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> NoReturn:
    """The TypeError that calling `real` with so many arguments gives."""


@declared
def refused_method(
    trace: Trace, kind: type, name: str, args: list[Value], kwargs: dict[str, Value]
) -> NoReturn:
    """The same for a method of a builtin container."""


@declared
def tail_call(trace: Trace, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call as the last act of an instruction: the result, or a frame to continue with."""


@declared
def tail_call_method(
    trace: Trace, obj: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`obj.name(...)` as the last act of an instruction."""
