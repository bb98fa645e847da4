"""contextvars.ContextVar: read under a guard; set and reset in the graph, like torch's modes.

A variable that the region sets is really set while tracing and while the graph runs, because an
operation written in Python may read it. What `set` gives, a token, stays inside of the region:
should it leave, Python makes the call.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import Constant
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import find_method, method
from suture.compiler.objects.real_object import RealObject
from suture.compiler.objects.sequence import BuiltinMethod
from suture.compiler.objects.wraps import wraps
from suture.compiler.torch.modes import set_mode
from suture.runtime.predicates import is_literal
from suture.runtime.sources import Source

Variable = contextvars.ContextVar[Any]
State = tuple[str, Any] | tuple[()]  # the name of the value's type and the value, or not set

_MISSING = contextvars.Token.MISSING
_PLAIN = (type(None), bool, int, str)  # an equal value of the same type cannot be told apart
_SETTERS: dict[Variable, Callable[[State], None]] = {}


def value_of_variable(variable: Variable) -> Any:
    """The value that a variable was given in this context; `Token.MISSING` if none was."""
    return variable.get(_MISSING)


def setter_of(variable: Variable) -> Callable[[State], None]:
    """The function that brings a variable into a state. The state `()` is only asked for where the
    variable was not set before, and this function has set it since, in the same context."""
    if variable not in _SETTERS:
        held = threading.local()

        def set_context_variable(state: State) -> None:
            if state:
                first = value_of_variable(variable) is _MISSING
                token = variable.set(state[1])
                held.token = token if first else held.__dict__.get("token")
            elif value_of_variable(variable) is not _MISSING:
                variable.reset(held.token)

        _SETTERS[variable] = set_context_variable
    return _SETTERS[variable]


class ContextVariable(RealObject):
    """A ContextVar. `set_here`: the region has set it, and `now` is what it holds, None if that is
    nothing."""

    __slots__ = ("now", "set_here")

    def __init__(self, value: Variable, source: Source) -> None:
        super().__init__(value, source)
        self.set_here = False
        self.now: Value | None = None

    def getattr(self, trace: Trace, name: str) -> Any:
        if find_method(type(self), name) is not None:
            return BuiltinMethod(self, name)
        if name == "name":
            return Constant(self.value.name)
        return super().getattr(trace, name)

    def current(self, trace: Trace) -> Value | None:
        """What it holds; None if it was not set."""
        if self.set_here:
            return self.now
        found, source = value_of_variable(self.value), self.known_source.call(value_of_variable)
        if found is _MISSING:
            trace.guards.add(source, "is", _MISSING)
            return None
        made: Value = abstract.wrap(trace, found, source)
        return made

    def change(self, trace: Trace, value: Value | None) -> None:
        before = value_of_variable(self.value)
        set_mode(trace, setter_of(self.value), (_state(value),), (_real_state(before),))
        self.set_here, self.now = True, value


def _state(value: Value | None) -> State:
    return _real_state(_MISSING if value is None else value.constant())


def _real_state(value: Any) -> State:
    return () if value is _MISSING else (type(value).__name__, value)


def _is_plain(value: Value | None) -> bool:
    return value is None or (value.is_constant() and type(value.constant()) in _PLAIN)


class MadeToken(Value):
    """What `set` gave in this region. `old` is what the variable held before, None for nothing."""

    __slots__ = ("old", "position", "used", "variable")

    def __init__(self, variable: ContextVariable, old: Value | None, position: Any) -> None:
        super().__init__(None)
        self.variable = variable
        self.old = old
        self.position = position
        self.used = False

    def python_type(self) -> type:
        return contextvars.Token

    def getattr(self, trace: Trace, name: str) -> Any:
        if name == "var":
            return self.variable
        if name == "MISSING" or (name == "old_value" and self.old is None):
            return abstract.wrap(trace, _MISSING, abstract.pinned(trace, _MISSING))
        if name == "old_value":
            return self.old
        if find_method(type(self), name) is not None:
            return BuiltinMethod(self, name)
        return super().getattr(trace, name)

    def rebuild(self, emit: Emitter) -> str:
        raise MadeByPython(self.position, "a token of a context variable")


@wraps(contextvars.ContextVar)
def _wrap(trace: Trace, value: Variable, source: Source | None) -> Value:
    source = source if source is not None else abstract.pinned(trace, value)
    abstract.fix(trace, source, value)
    return ContextVariable(value, source)


@method(ContextVariable, "get")
def _get(self: ContextVariable, trace: Trace, *default: Value) -> Value:
    found = self.current(trace)
    if found is not None:
        return found
    if default:
        return default[0]
    try:
        own = self.value.get()
    except LookupError:
        raise Break(objects.UNKNOWN_METHOD, object=self.describe(), method="get") from None
    return (
        Constant(own) if is_literal(own) else abstract.wrap(trace, own, abstract.pinned(trace, own))
    )


@method(ContextVariable, "set")
def _set(self: ContextVariable, trace: Trace, value: Value) -> Value:
    position = (trace.frames[-1].code.code, trace.frames[-1].ip)
    old = self.current(trace)
    if position in trace.region.plan.by_python or not (_is_plain(old) and _is_plain(value)):
        raise Break(objects.UNKNOWN_METHOD, object=self.describe(), method="set")
    self.change(trace, value)
    return MadeToken(self, old, position)


@method(ContextVariable, "reset")
def _reset(self: ContextVariable, trace: Trace, token: Value) -> Value:
    """With a token of another call, or of another variable, or twice: Python does it, or says why
    not."""
    if not isinstance(token, MadeToken) or token.used or token.variable is not self:
        raise Break(objects.UNKNOWN_METHOD, object=self.describe(), method="reset")
    self.change(trace, token.old)
    token.used = True
    return Constant(None)


if hasattr(contextvars.Token, "__exit__"):  # from Python 3.14 on

    @method(MadeToken, "__enter__")
    def _enter(self: MadeToken, trace: Trace) -> Value:
        return self

    @method(MadeToken, "__exit__")
    def _exit(self: MadeToken, trace: Trace, *exc: Value) -> Value:
        return _reset(self.variable, trace, self)
