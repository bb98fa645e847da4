"""A generator made while tracing: its body is a suspended symbolic frame."""

from __future__ import annotations

import itertools
import types
from typing import Any

from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Frame, Lazy, Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.iterator import END
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import method, run_method

# The variables of what stands for an iterator of the library that say how far it is.
_RESTS = {itertools.count: ("value", "step"), itertools.repeat: ("item", "left")}


class Generator(Mutable):
    """`frame` is the suspended (or, while `running`, active) frame; None when it has ended. `left`
    are variables that it still holds then."""

    __slots__ = ("cls", "frame", "left", "origin", "position", "running", "started")

    def __init__(self, frame: Frame, cls: type = types.GeneratorType) -> None:
        super().__init__(None)
        self.frame: Frame | None = frame
        self.left: list[Value | Lazy | None] = []
        self.running = False
        self.started = False
        self.cls = cls
        # (type, what makes it, args, kwargs) of the library iterator it stands for
        self.origin: Any = None
        self.position: Any = None  # (code, index) of the call that made that iterator

    def python_type(self) -> type:
        return self.cls if self.origin is None else self.origin[0]

    def describe(self) -> str:
        return "a generator"

    def getattr(self, trace: Trace, name: str) -> Value:
        if self.origin is None and name.partition("_")[0] in ("gi", "cr", "ag"):
            what = name.partition("_")[2]
            if what == "running":
                return Constant(self.running)
            if what == "suspended":
                return Constant(self.started and not self.running and self.frame is not None)
            if what in ("frame", "yieldfrom", "await") and self.frame is None:
                return Constant(None)
            if what in ("yieldfrom", "await") and (self.running or not self.started):
                return Constant(None)
        return abstract.container_attribute(trace, self, name)

    def advance(self, trace: Trace) -> Value:
        return advance_generator(trace, self, Constant(None))

    def _rest(self) -> list[Any] | None:
        """The arguments that make the iterator of the library that this one stands for, as far as
        it is now; None where no arguments do."""
        names = _RESTS.get(self.origin[0]) if self.origin is not None and self.started else None
        if names is None or self.frame is None or self.running:
            return None
        variables = self.frame.code.code.co_varnames
        found = [self.frame.locals[variables.index(name)] for name in names]
        left = found[-1] if names[-1] == "left" else None
        forever = isinstance(left, Constant) and left.value < 0
        return found[:-1] if forever else found

    def remaining(self, trace: Trace) -> list[Any]:
        out = []
        while (item := self.advance(trace)) is not END:
            out.append(item)
        return out

    def rebuild(self, emit: Emitter) -> str:
        rest = self._rest()
        if rest is not None:
            given = ", ".join(emit.value(v) for v in rest)
            return f"{emit.constant(self.origin[0], self.origin[0].__name__)}({given})"
        again = self.origin is not None and self.origin[1] is not None and not self.started
        if self.position is not None and not again:
            raise MadeByPython(self.position, "an iterator that has begun")
        if self.origin is None:
            return str(emit.generator(self))
        _, make, args, kwargs = self.origin
        parts = [emit.value(a) for a in args] + [f"{k}={emit.value(v)}" for k, v in kwargs.items()]
        return f"{emit.constant(make, make.__name__)}({', '.join(parts)})"


@method(Generator, "__iter__")
def generator_iter(self: Generator, trace: Trace) -> Value:
    return self


@method(Generator, "__next__")
def generator_next(self: Generator, trace: Trace) -> Value:
    return run_method(trace, self, "send", Constant(None))


@method(Generator, "send")
def generator_send(self: Generator, trace: Trace, value: Value) -> Value:
    return send_to_generator(trace, self, value)


@method(Generator, "close")
def generator_close(self: Generator, trace: Trace) -> Value:
    return close_generator(trace, self)


@method(Generator, "throw")
def generator_throw(self: Generator, trace: Trace, *args: Value) -> Value:
    return throw_into_generator(trace, self, list(args))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def advance_generator(trace: Trace, gen: Generator, sent: Value) -> Value:
    """Run to the next yield; END when it returns."""


@declared
def close_generator(trace: Trace, gen: Value) -> Value:
    """`gen.close()`: GeneratorExit is raised at its yield. Gives what the program gets."""


@declared
def send_to_generator(trace: Trace, gen: Value, value: Value) -> Value:
    """`gen.send(value)`: runs to the next yield; StopIteration in the program when it returns."""


@declared
def throw_into_generator(trace: Trace, gen: Value, args: list[Value]) -> Value:
    """`gen.throw(*args)`: raises at its yield, then as `generator_send`."""
