"""Raising and matching exceptions in the traced program."""

from __future__ import annotations

import inspect
import sys
from typing import Any, NoReturn

from suture.breaks import Break, calls, objects, raising
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.language.attribute_writes import set_attr
from suture.compiler.objects import (
    Class,
    Constant,
    Object,
    Opaque,
    Raise,
    Raised,
    Tuple,
    exception,
    instance,
)
from suture.runtime.predicates import is_literal
from suture.runtime.reads import current_exception


class Ambient(Opaque):
    """The exception being handled by whoever called the compiled function; None as a rule."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.constant(current_exception, 'handled_by_caller')}()"


@implements(abstract.raise_)
def raise_(trace: Trace, kind: type[BaseException], *args: object) -> NoReturn:
    raise Raised(with_context(trace, Raise(kind, [Constant(a) for a in args])))


@implements(abstract.raise_with)
def raise_with(trace: Trace, kind: type[BaseException], args: list[Value]) -> NoReturn:
    raise Raised(with_context(trace, Raise(kind, args)))


def native_exception(trace: Trace, error: BaseException) -> Value:
    """The value of an exception that a folded operation really raised."""
    if all(is_literal(a) for a in error.args):
        made = Raise(type(error), [Constant(a) for a in error.args])
    else:
        made = Raise(type(error), [Constant(str(error))])
    for name in ("name", "obj"):
        if isinstance(error, (AttributeError, NameError)) and hasattr(error, name):
            made.attrs[name] = Constant(None)
    for name, value in vars(error).items():  # such as msg and pos of re.error
        if not is_literal(value):
            raise Break(calls.UNSUPPORTED_CALLABLE, callable=name, arguments=repr(error))
        made.attrs[name] = Constant(value)
    if error.__cause__ is not None:
        made.cause = native_exception(trace, error.__cause__)
    made.suppress = error.__suppress_context__
    return with_context(trace, made)


@implements(abstract.with_context)
def with_context(trace: Trace, exc: Value) -> Value:
    handled = handled_now(trace)
    if isinstance(exc, Raise) and _is_exception(handled) and handled is not exc:
        at, seen = handled, set()
        while isinstance(at, Raise) and at.context is not None and id(at) not in seen:
            seen.add(id(at))
            if at.context is exc:  # no circles
                at.context = None
                break
            at = at.context
        exc.context = handled
    elif exc.source is not None and _is_exception(handled) and handled is not exc:
        trace.effects.passed.append((exc, None, handled, 0))
    return exc


@implements(instance.raises_set_contexts)
def raises_set_contexts(trace: Trace) -> bool:
    return any(code is None for _, code, _, _ in trace.effects.passed)


def handled_now(trace: Trace) -> Value | None:
    """The exception being handled in the innermost frame; what the caller of the region
    handles is looked at, and guarded."""
    handled = trace.frames[-1].handled if trace.frames else None
    if not isinstance(handled, Ambient):
        return handled
    if trace.handling.ambient is None:
        trace.guards.add(None, "torch_state", _NOTHING_HANDLED)
        return Constant(None)
    return abstract.wrap(
        trace, trace.handling.ambient, abstract.pinned(trace, sys).call(current_exception)
    )


def handled_by_caller(trace: Trace, frame: Frame) -> Value:
    """What is being handled where a frame was called."""
    at = trace.frames.index(frame)
    return trace.frames[at - 1].handled if at else Ambient()


def do_raise(trace: Trace, frame: Frame, parts: list[Any]) -> None:
    """RAISE_VARARGS."""
    if not parts:
        handled = handled_now(trace)
        if handled is None or not _is_exception(handled):
            if handled is None or isinstance(handled, Constant):
                raise_(trace, RuntimeError, "No active exception to reraise")
            raise Break(objects.UNKNOWN_OBJECT, operation="re-raise", object="the exception")
        raise Raised(handled)
    exc = exception_instance(trace, parts[0])
    if len(parts) == 2:
        cause = parts[1]
        if not (cause.is_constant() and cause.constant() is None):
            cause = exception_instance(trace, cause, "exception causes")
        set_attr(trace, exc, "__cause__", cause)
    raise Raised(with_context(trace, exc))


def exception_instance(trace: Trace, value: Value, what: str = "exceptions") -> Value:
    """The exception object for `raise value`."""
    if isinstance(value, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="raise", object=value.describe())
    if isinstance(value, Class) and issubclass(value.value, BaseException):
        made = abstract.call(trace, value, [], {})
        if not issubclass(made.python_type(), BaseException):
            text = f"calling {value.value!r} should have returned an instance of BaseException"
            raise_(trace, TypeError, f"{text}, not {made.python_type()!r}")
        return made
    if not issubclass(value.python_type(), BaseException):
        raise_(trace, TypeError, f"{what} must derive from BaseException")
    return value


def exception_matches(trace: Trace, exc: Value, kind: Any) -> bool:
    """`except kind:` for an exception whose class is known."""
    kinds = kind.unpacked(trace) if isinstance(kind, Tuple) else [kind]
    classes = []
    for one in kinds:
        if isinstance(one, Opaque):
            raise Break(objects.UNKNOWN_OBJECT, operation="except", object=one.describe())
        try:
            real = one.constant() if one.is_constant() else one.real()
        except LookupError:
            real = None
        if not (isinstance(real, type) and BaseException in real.__mro__):
            raise_(
                trace,
                TypeError,
                "catching classes that do not inherit from BaseException is not allowed",
            )
        classes.append(real)
    return not set(classes).isdisjoint(exc.python_type().__mro__)


def type_of(trace: Trace, exc: Value) -> Value:
    return abstract.wrap(trace, exc.python_type(), None)


@implements(abstract.traceback_of)
def traceback_of(trace: Trace, exc: Value) -> Value:
    if isinstance(exc, Object) and exc.source is not None:
        if any(entry[0] is exc for entry in trace.effects.passed):
            raise Break(raising.SET_TRACEBACK, exception=exc.describe())
        return Opaque(exc.value.__traceback__, exc.source.attr("__traceback__"))
    if isinstance(exc, Raise):
        if not exc.traceback:
            return Constant(None)
        exc = exc.traceback_owner()
    # It is one object for as long as the exception passes no frame.
    last: NoTraceback | None = trace.handling.last_traceback
    entries = list(getattr(exc, "traceback", ()))
    if last is None or last.of is not exc or last.entries != entries:
        last = trace.handling.last_traceback = NoTraceback(exc)
    return last


@implements(exception.traceback_before)
def traceback_before(trace: Trace, exc: Value, traceback: Value) -> list[Any]:
    owner = exc.traceback_owner() if isinstance(exc, Raise) else exc
    if isinstance(traceback, NoTraceback) and (traceback.of is exc or traceback.of is owner):
        return list(traceback.entries)
    if traceback.is_constant() and traceback.constant() is None:
        return []
    raise Break(raising.SET_TRACEBACK, exception=exc.describe())


def stopiteration_error(trace: Trace, exc: Value, frame: Frame) -> Value:
    """A StopIteration that leaves a generator becomes a RuntimeError."""
    flags = frame.code.code.co_flags
    ends = (StopIteration, StopAsyncIteration)[: 2 if flags & inspect.CO_ASYNC_GENERATOR else 1]
    end = next((kind for kind in ends if issubclass(exc.python_type(), kind)), None)
    if end is None:
        return exc
    who = next((name for flag, name in _GENERATORS.items() if flags & flag), "generator")
    made = Raise(RuntimeError, [Constant(f"{who} raised {end.__name__}")])
    made.cause = made.context = exc
    made.suppress = True
    return made


_GENERATORS = {
    inspect.CO_ASYNC_GENERATOR: "async generator",
    inspect.CO_COROUTINE: "coroutine",
}


_NOTHING_HANDLED = (sys.exception, None, "the exception being handled")


class NoTraceback(Opaque):
    """The traceback of an exception that so far exists in the trace only."""

    __slots__ = ("entries", "of")

    def __init__(self, of: Any) -> None:
        super().__init__(None, None)
        self.of = of
        self.entries = list(getattr(of, "traceback", ()))

    def python_type(self) -> type:
        import types

        return types.TracebackType

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.of)}.__traceback__"


def _is_exception(value: Any) -> bool:
    if value is None or isinstance(value, (Constant, Ambient)):
        return False
    return issubclass(value.python_type(), BaseException)
