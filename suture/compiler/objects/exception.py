"""Exceptions that are made while tracing."""

from __future__ import annotations

import types
from typing import Any

from suture import _core
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Frame, Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import instance
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import method
from suture.compiler.objects.tuple_ import Tuple

_OF_EXCEPTIONS = ("__cause__", "__context__", "args", "__traceback__")


class Raise(Mutable):
    """An exception object made while tracing. `args` are its arguments."""

    __slots__ = (
        "args", "attrs", "bare", "cause", "cls", "context", "left", "suppress", "traceback",
    )  # fmt: skip

    def __init__(self, cls: type[BaseException], args: list[Value]) -> None:
        super().__init__(None)
        self.cls = cls
        self.args = args
        self.context: Any = None
        self.cause: Any = None
        self.suppress = False
        self.attrs: dict[str, Value] = {}
        self.traceback: list[tuple[Any, Any, int]] = []  # frames it has passed, innermost first
        self.left: list[Frame] = []  # those of them that hold what somebody waits for
        self.bare = False  # made by __new__ alone, no __init__ has run

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"a {self.cls.__name__}"

    def truth(self, trace: Trace) -> bool | None:
        return True

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "args":
            return Tuple(self.args)
        if name in self.attrs:
            return self.attrs[name]
        if name == "__context__":
            return self.context or Constant(None)
        if name == "__cause__":
            return self.cause or Constant(None)
        if name == "__suppress_context__":
            return Constant(self.suppress)
        if name == "__traceback__":
            return abstract.traceback_of(trace, self)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else Constant(None)
        return instance.instance_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        if name in ("__cause__", "__context__"):
            kind, what = value.python_type(), name.strip("_")
            if not issubclass(kind, (BaseException, type(None))):
                abstract.raise_(
                    trace, TypeError, f"exception {what} must be None or derive from BaseException"
                )
        if name == "__traceback__":
            traceback_before(trace, self, value)
        if name not in _OF_EXCEPTIONS:
            instance.instance_set_attribute(trace, self, name, value)
            return
        self.touch(trace)
        if name == "__cause__":
            self.cause, self.suppress = value, True
        elif name == "__context__":
            self.context = value
        elif name == "args":
            self.args = list(abstract.unpack(trace, value))
        else:
            self._replace_traceback(traceback_before(trace, self, value))

    def traceback_owner(self) -> Raise:
        """The exception whose traceback this one has: itself, but for parts of groups."""
        return self

    def _replace_traceback(self, entries: list[tuple[Any, Any, int]]) -> None:
        self.traceback = entries
        if not entries:
            self.left = []

    def rebuild(self, emit: Emitter) -> str:
        name = self._make(emit)
        if self.cause is not None:
            emit.line(f"{name}.__cause__ = {emit.value(self.cause)}")
        if self.context is not None:
            emit.line(f"{name}.__context__ = {emit.value(self.context)}")
        if self.suppress:
            emit.line(f"{name}.__suppress_context__ = True")
        for attr, value in self.attrs.items():
            emit.line(f"{name}.{attr} = {emit.value(value)}")
        self._write_traceback(emit, name)
        return name

    def _make(self, emit: Emitter) -> str:
        """The object as its constructor leaves it."""
        cls = emit.constant(self.cls, self.cls.__name__)
        args = ", ".join(emit.value(a) for a in self.args)
        new = next(b.__dict__["__new__"] for b in self.cls.__mro__ if _in_c(b, "__new__"))
        make = emit.constant(new, "new")
        name = str(emit.begin(self, f"{make}({cls}{', ' if args else ''}{args})"))
        if not self.bare:
            init = next(b.__dict__["__init__"] for b in self.cls.__mro__ if _in_c(b, "__init__"))
            emit.line(f"{emit.constant(init, 'init')}({name}{', ' if args else ''}{args})")
        return name

    def _write_traceback(self, emit: Emitter, name: str) -> None:
        self._add_entries(emit, name, self.traceback)

    def _add_entries(self, emit: Emitter, name: str, entries: list[tuple[Any, Any, int]]) -> None:
        left = list(self.left)
        for code, namespace, at in entries:
            add = emit.constant(_core.add_traceback, "add_traceback")
            position = f"{emit.constant(code, 'code')}, {emit.constant(namespace, 'globals')}, {at}"
            frame = next((frame for frame in left if frame.code.code is code), None)
            if frame is not None:
                left.remove(frame)
                position += f", ({''.join(f'{emit.value(v)}, ' for v in frame.locals)})"
            emit.line(f"{add}({name}, {position})")


@method(Raise, "with_traceback")
def raise_with_traceback(self: Raise, trace: Trace, traceback: Value) -> Value:
    entries = traceback_before(trace, self, traceback)
    self.touch(trace)
    self._replace_traceback(entries)
    return self


def _in_c(cls: type, name: str) -> bool:
    python = (types.FunctionType, staticmethod)
    return name in cls.__dict__ and not isinstance(cls.__dict__[name], python)


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def traceback_before(trace: Trace, exc: Value, traceback: Value) -> list[Any]:
    """The entries of an exception of the trace that `traceback` represents: none, or those
    it had when its traceback was read."""
