"""Raising and matching exceptions in the traced program."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from suture.breaks import Break, calls, objects, raising
from suture.calls.part import Part
from suture.variables import Class, Constant, Object, Opaque, Raise, Raised, Tuple, is_literal


class Ambient(Opaque):
    """The exception being handled by whoever called the compiled function; None as a rule."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.constant(_current_exception, 'handled_by_caller')}()"


def _current_exception(_: Any = None) -> Any:
    return sys.exc_info()[1]


class Exceptions(Part):
    """The part of the tracer that raises."""

    last_traceback: Any

    def raise_(self, kind: type[BaseException], *args: Any) -> Any:
        """Raise `kind(*args)` in the traced program; the arguments are plain values."""
        raise Raised(self.with_context(Raise(kind, [Constant(a) for a in args])))

    def raise_with(self, kind: type[BaseException], args: list[Any]) -> Any:
        """The same with variables as arguments."""
        raise Raised(self.with_context(Raise(kind, args)))

    def native_exception(self, error: BaseException) -> Any:
        """The variable of an exception that a folded operation really raised."""
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
            made.cause = self.native_exception(error.__cause__)
        made.suppress = error.__suppress_context__
        return self.with_context(made)

    def with_context(self, exc: Any) -> Any:
        """Set __context__ as `raise` does: what is being handled right now."""
        handled = self.handled_now()
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
            self.effects.passed.append((exc, None, handled, 0))
        return exc

    def raises_set_contexts(self) -> bool:
        """Whether real exceptions were raised whose contexts are set only behind the region."""
        return any(code is None for _, code, _, _ in self.effects.passed)

    def handled_now(self) -> Any:
        """The exception being handled in the innermost frame; what the caller of the region
        handles is looked at, and guarded."""
        handled = self.frames[-1].handled if self.frames else None
        if not isinstance(handled, Ambient):
            return handled
        if self.ambient is None:
            self.guards.add(None, "torch_state", _NOTHING_HANDLED)
            return Constant(None)
        return self.wrap(self.ambient, self.pinned(sys).call(_current_exception))

    def handled_by_caller(self, frame: Any) -> Any:
        """What is being handled where a frame was called."""
        at = self.frames.index(frame)
        return self.frames[at - 1].handled if at else Ambient()

    def do_raise(self, frame: Any, parts: list[Any]) -> None:
        """RAISE_VARARGS."""
        if not parts:
            handled = self.handled_now()
            if not _is_exception(handled):
                if handled is None or isinstance(handled, Constant):
                    self.raise_(RuntimeError, "No active exception to reraise")
                raise Break(objects.UNKNOWN_OBJECT, operation="re-raise", object="the exception")
            raise Raised(handled)
        exc = self._instance(parts[0])
        if len(parts) == 2:
            cause = parts[1]
            if not (cause.is_constant() and cause.constant() is None):
                cause = self._instance(cause, "exception causes")
            self.setattr(exc, "__cause__", cause)
        raise Raised(self.with_context(exc))

    def _instance(self, value: Any, what: str = "exceptions") -> Any:
        """The exception object for `raise value`."""
        if isinstance(value, Opaque):
            raise Break(objects.UNKNOWN_OBJECT, operation="raise", object=value.describe())
        if isinstance(value, Class) and issubclass(value.value, BaseException):
            made = self.call(value, [], {})
            if not issubclass(made.python_type(), BaseException):
                text = f"calling {value.value!r} should have returned an instance of BaseException"
                self.raise_(TypeError, f"{text}, not {made.python_type()!r}")
            return made
        if not issubclass(value.python_type(), BaseException):
            self.raise_(TypeError, f"{what} must derive from BaseException")
        return value

    def exception_matches(self, exc: Any, kind: Any) -> bool:
        """`except kind:` for an exception whose class is known."""
        kinds = kind.unpacked(self) if isinstance(kind, Tuple) else [kind]
        classes = []
        for one in kinds:
            if isinstance(one, Opaque):
                raise Break(objects.UNKNOWN_OBJECT, operation="except", object=one.describe())
            try:
                real = one.constant() if one.is_constant() else one.real()
            except LookupError:
                real = None
            if not (isinstance(real, type) and BaseException in real.__mro__):
                self.raise_(
                    TypeError,
                    "catching classes that do not inherit from BaseException is not allowed",
                )
            classes.append(real)
        return not set(classes).isdisjoint(exc.python_type().__mro__)

    def type_of(self, exc: Any) -> Any:
        return self.wrap(exc.python_type(), None)

    def traceback_of(self, exc: Any) -> Any:
        """`exc.__traceback__`: only real exceptions have one; others have not been raised yet."""
        if isinstance(exc, Object) and exc.source is not None:
            if any(entry[0] is exc for entry in self.effects.passed):
                raise Break(raising.SET_TRACEBACK, exception=exc.describe())
            return Opaque(exc.value.__traceback__, exc.source.attr("__traceback__"))
        if isinstance(exc, Raise) and not exc.traceback:
            return Constant(None)
        last = self.last_traceback  # one object for as long as the exception passes no frame
        entries = list(getattr(exc, "traceback", ()))
        if last is None or last.of is not exc or last.entries != entries:
            last = self.last_traceback = NoTraceback(exc)
        return last

    def traceback_before(self, exc: Any, traceback: Any) -> list[Any]:
        """The entries of an exception of the trace that `traceback` stands for: none, or those
        it had when it was asked for them."""
        if isinstance(traceback, NoTraceback) and traceback.of is exc:
            return list(traceback.entries)
        if traceback.is_constant() and traceback.constant() is None:
            return []
        raise Break(raising.SET_TRACEBACK, exception=exc.describe())

    def stopiteration_error(self, exc: Any, frame: Any) -> Any:
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

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.of)}.__traceback__"


def _is_exception(value: Any) -> bool:
    if value is None or isinstance(value, (Constant, Ambient)):
        return False
    return issubclass(value.python_type(), BaseException)
