"""Iterators over other iterators: zip, enumerate, map, filter, and iter(callable, sentinel)."""

from __future__ import annotations

from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.iterator import END, Iterator


class _Parallel(Iterator):
    """An iterator that takes one item of each of its parts at a time; if it is strict, they must
    end together."""

    __slots__ = ("parts", "strict")

    def __init__(self, parts: list[Any], strict: bool = False) -> None:
        super().__init__(None)
        self.parts = parts
        self.strict = strict

    def _row(self, trace: Trace) -> list[Any] | None:
        """One item of each; None at the end."""
        row: list[Any] = []
        for i, part in enumerate(self.parts):
            item = abstract.advance(trace, part)
            if item is END:
                if self.strict:
                    self._uneven(trace, i)
                return None
            row.append(item)
        return row

    def _uneven(self, trace: Trace, i: int) -> None:
        if i:
            self._raise(trace, i, "shorter")
        for j, part in enumerate(self.parts[1:], start=1):
            if abstract.advance(trace, part) is not END:
                self._raise(trace, j, "longer")

    def _raise(self, trace: Trace, i: int, what: str) -> None:
        name, others = self.python_type().__name__, "s 1-" if i > 1 else " "
        text = f"{name}() argument {i + 1} is {what} than argument{others}{i}"
        abstract.raise_(trace, ValueError, text)

    def _rebuilt_parts(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(p) for p in self.parts)
        return f"{inner}{', strict=True' if self.strict else ''}"


class Zip(_Parallel):
    """zip(...) over other iterators."""

    __slots__ = ()

    def python_type(self) -> type:
        return zip

    def advance(self, trace: Trace) -> Value:
        from suture.compiler.objects.tuple_ import Tuple

        row = self._row(trace) if self.parts else None
        return END if row is None else Tuple(row)

    def rebuild(self, emit: Emitter) -> str:
        return f"zip({self._rebuilt_parts(emit)})"


class Enumerate(Iterator):
    """enumerate(...) over another iterator."""

    __slots__ = ("count", "part")

    def __init__(self, part: Any, count: Any) -> None:
        super().__init__(None)
        self.part = part
        self.count = count

    def python_type(self) -> type:
        return enumerate

    def advance(self, trace: Trace) -> Value:
        from suture.compiler.objects.tuple_ import Tuple

        item = abstract.advance(trace, self.part)
        if item is END:
            return END
        # Not noted as changed, since the part is: a note would keep a generator from being dropped.
        number = self.count
        self.count = abstract.binary(trace, "add", number, Constant(1))
        return Tuple([number, item])

    def rebuild(self, emit: Emitter) -> str:
        return f"enumerate({emit.value(self.part)}, {emit.value(self.count)})"


class Map(_Parallel):
    """map(fn, ...) over other iterators."""

    __slots__ = ("fn",)

    def __init__(self, fn: Any, parts: list[Any], strict: bool = False) -> None:
        super().__init__(parts, strict)
        self.fn = fn

    def python_type(self) -> type:
        return map

    def advance(self, trace: Trace) -> Value:
        row = self._row(trace)
        return END if row is None else abstract.call(trace, self.fn, row, {})

    def rebuild(self, emit: Emitter) -> str:
        return f"map({emit.value(self.fn)}, {self._rebuilt_parts(emit)})"


class CallIterator(Iterator):
    """iter(callable, sentinel)."""

    __slots__ = ("ended", "fn", "sentinel")

    def __init__(self, fn: Any, sentinel: Any) -> None:
        super().__init__(None)
        self.fn = fn
        self.sentinel = sentinel
        self.ended: Any = False  # also by what it calls

    def python_type(self) -> type:
        return type(iter(int, 1))

    def advance(self, trace: Trace) -> Value:
        if self.ended:
            return END
        item = abstract.call(trace, self.fn, [], {})
        if self.ended:  # the function has used it up
            return END
        if abstract.same_or_equal(trace, self.sentinel, item):
            self.touch(trace)
            self.ended = True
            return END
        return item

    def rebuild(self, emit: Emitter) -> str:
        if self.ended:
            return "iter(())"
        return f"iter({emit.value(self.fn)}, {emit.value(self.sentinel)})"


class Filter(Iterator):
    """filter(fn, iterator)."""

    __slots__ = ("fn", "part")

    def __init__(self, fn: Any, part: Any) -> None:
        super().__init__(None)
        self.fn = fn
        self.part = part

    def python_type(self) -> type:
        return filter

    def advance(self, trace: Trace) -> Value:
        while (item := abstract.advance(trace, self.part)) is not END:
            plain = self.fn.is_constant() and self.fn.constant() is None
            if abstract.truth(trace, item if plain else abstract.call(trace, self.fn, [item], {})):
                return item
        return END

    def rebuild(self, emit: Emitter) -> str:
        return f"filter({emit.value(self.fn)}, {emit.value(self.part)})"
