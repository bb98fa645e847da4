"""A generator made while tracing: its body is a suspended symbolic frame."""

from __future__ import annotations

import types
from typing import Any

from suture.variables.base import Mutable
from suture.variables.constant import Constant


class MadeByPython(Exception):
    """What a call made is needed as Python makes it (an iterator in the midst of its elements, a
    tensor whose derivative is used up): the region is traced again, and Python runs the call at
    `place` (code, index). `what` names it."""

    def __init__(self, place: Any, what: str) -> None:
        super().__init__(place)
        self.place = place
        self.what = what


class Generator(Mutable):
    """`frame` is the suspended (or, while `running`, active) frame; None when it has ended."""

    __slots__ = ("cls", "frame", "origin", "place", "running", "started")

    def __init__(self, frame: Any, cls: type = types.GeneratorType) -> None:
        super().__init__(None)
        self.frame = frame
        self.running = False
        self.started = False
        self.cls = cls
        # (type, what makes it, args, kwargs) of the library iterator it stands for
        self.origin: Any = None
        self.place: Any = None  # (code, index) of the call that made that iterator

    def python_type(self) -> type:
        return self.cls if self.origin is None else self.origin[0]

    def describe(self) -> str:
        return "a generator"

    def getattr(self, tx: Any, name: str) -> Any:
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
        return tx.container_attribute(self, name)

    def advance(self, tx: Any) -> Any:
        return tx.advance_generator(self, Constant(None))

    def remaining(self, tx: Any) -> list[Any]:
        from suture.variables.iterators import END

        out = []
        while (item := self.advance(tx)) is not END:
            out.append(item)
        return out

    def m___iter__(self, tx: Any) -> Any:
        return self

    def m___next__(self, tx: Any) -> Any:
        return self.m_send(tx, Constant(None))

    def m_send(self, tx: Any, value: Any) -> Any:
        return tx.generator_send(self, value)

    def m_close(self, tx: Any) -> Any:
        return tx.generator_close(self)

    def m_throw(self, tx: Any, *args: Any) -> Any:
        return tx.generator_throw(self, list(args))

    def rebuild(self, emit: Any) -> str:
        again = self.origin is not None and self.origin[1] is not None and not self.started
        if self.place is not None and not again:
            raise MadeByPython(self.place, "an iterator that has begun")
        if self.origin is None:
            return str(emit.generator(self))
        _, make, args, kwargs = self.origin
        parts = [emit.value(a) for a in args] + [f"{k}={emit.value(v)}" for k, v in kwargs.items()]
        return f"{emit.constant(make, make.__name__)}({', '.join(parts)})"
