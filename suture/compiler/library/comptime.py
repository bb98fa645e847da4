"""`torch._dynamo.comptime(fn)`: a function of the program that runs while the line is compiled.

It is given a context (`comptime_views.py`) and gives nothing back: to what is compiled the call is
None, so that when and how often it runs changes no result. It runs each time the line is traced,
which a break behind it may make twice.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from suture import errors
from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Raised, Trace, Value
from suture.compiler.library.comptime_views import Context
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Function, MadeFunction


@handles("comptime")
def _comptime(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The second argument is what eager mode calls instead."""
    given = args[0] if args else kwargs.get("fn")
    if given is None or len(args) + len(kwargs) > 2:
        raise _left("it takes a function, and one for eager mode")
    function = _function(trace, given)
    try:
        function(Context(trace))
    except (Break, Raised, errors.SutureError):
        raise
    except Exception as error:
        raise errors.RaisedWhileCompiling(error) from None
    return Constant(None)


def _function(trace: Trace, given: Value) -> Callable[[Context], object]:
    """The function itself. One that is made by the code that is traced does not exist yet: it is
    made here, of what is known. Its variables from outside would need their values, so with such
    it is left to Python, which calls nothing."""
    if isinstance(given, Function):
        return given.fn
    if not isinstance(given, MadeFunction):
        raise _left(f"{given.describe()} is no Python function")
    if given.closure:
        names = ", ".join(given.code.co_freevars)
        raise _left(f"its function uses {names} of the function around it")
    defaults = [given.default(trace, i) for i in range(given.default_count)]
    known = tuple(abstract.constant_value(trace, value) for value in defaults)
    return types.FunctionType(given.code, given.globals, given.code.co_name, known or None)


def _left(why: str) -> Break:
    return Break(calls.COMPTIME_BREAK, reason=f"not run, {why}")
