"""collections.deque: a list with two ends, which knows when it changes under an iterator."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.iterator import SequenceIterator
from suture.compiler.objects.sequence import List


class Deque(List):
    """collections.deque, with its maximal length. `moves` counts what makes iterators invalid,
    `written` are the places whose items have been replaced."""

    __slots__ = ("maxlen", "moves", "written")
    kind = collections.deque  # type: ignore[assignment]

    def __init__(self, items: Iterable[Any], source: Any = None, maxlen: int | None = None) -> None:
        super().__init__(items, source)
        self.maxlen = maxlen
        self.moves = 0
        self.written: set[int] = set()

    def known(self, values: list[Any]) -> Any:
        return collections.deque(values, self.maxlen)

    def made_like(self, items: list[Any]) -> Any:
        made = Deque(items, None, self.maxlen)
        made._trim(left=False)
        return made

    def rebuild(self, emit: Any) -> str:
        made = f"{emit.constant(collections.deque, 'deque')}(maxlen={self.maxlen})"
        name = str(emit.begin(self, made))
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"{name}.extend([{inner}])")
        return name

    def write_back(self, emit: Any, name: str) -> None:
        if not self.moves:  # iterators of it stay valid
            for i in sorted(self.written):
                emit.line(f"{name}[{i}] = {emit.value(self.items[i])}")
            return
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"{name}.clear(); {name}.extend([{inner}])")

    def change(self, trace: Trace) -> list[Any]:
        items = super().change(trace)
        self.moves += 1
        return items

    def _trim(self, left: bool) -> None:
        if self.maxlen is not None:
            while len(self.items) > self.maxlen:
                self.items.pop(-1 if left else 0)

    def _found(
        self, trace: Trace, item: Any, low: int, high: int, error: type, text: str
    ) -> list[int]:
        """The places of an item; a comparison must not change the deque."""
        moves, out = self.moves, []
        for i in range(low, high):
            equal = abstract.same_or_equal(trace, self.at(trace, i), item)
            if self.moves != moves:
                abstract.raise_(trace, error, text)
            if equal:
                out.append(i)
        return out

    def m___setitem__(self, trace: Trace, key: Any, value: Any) -> Any:
        at = abstract.index_of(trace, key, len(self.items), "deque")
        if isinstance(at, slice):
            return abstract.raise_(trace, TypeError, "sequence index must be integer, not 'slice'")
        self.unpacked(trace)
        self.touch(trace)
        self.items[at] = value
        self.written.add(at)
        return Constant(None)

    def m___getitem__(self, trace: Trace, key: Any) -> Any:
        at = abstract.index_of(trace, key, len(self.items), "deque")
        if isinstance(at, slice):
            return abstract.raise_(trace, TypeError, "sequence index must be integer, not 'slice'")
        return self.at(trace, at)

    def m___iter__(self, trace: Trace) -> Any:
        return DequeIterator(self, 0)

    def m___reversed__(self, trace: Trace) -> Any:
        return DequeIterator(self, 0, True)

    def m___contains__(self, trace: Trace, item: Any) -> Any:
        for i in range(len(self.items)):
            if self._found(trace, item, i, i + 1, RuntimeError, _CHANGED):
                return Constant(True)
        return Constant(False)

    def m_index(self, trace: Trace, item: Any, start: Any = None, stop: Any = None) -> Any:
        low = 0 if start is None else abstract.integer(trace, start)
        high = len(self.items) if stop is None else abstract.integer(trace, stop)
        for i in range(*slice(low, high).indices(len(self.items))):
            if self._found(trace, item, i, i + 1, RuntimeError, _CHANGED):
                return Constant(i)
        text = abstract.constant_value(trace, abstract.convert_value(trace, item, "repr"))
        return abstract.raise_(trace, ValueError, f"{text} is not in deque")

    def m_count(self, trace: Trace, item: Any) -> Any:
        found = self._found(trace, item, 0, len(self.items), RuntimeError, _CHANGED)
        return Constant(len(found))

    def m_remove(self, trace: Trace, item: Any) -> Any:
        for i in range(len(self.items)):
            text = "deque mutated during remove()."
            if self._found(trace, item, i, i + 1, IndexError, text):
                del self.change(trace)[i]
                return Constant(None)
        shown = abstract.constant_value(trace, abstract.convert_value(trace, item, "repr"))
        return abstract.raise_(trace, ValueError, f"{shown} is not in deque")

    def m_insert(self, trace: Trace, where: Any, item: Any) -> Any:
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            return abstract.raise_(trace, IndexError, "deque already at its maximum size")
        return super().m_insert(trace, where, item)

    def m_append(self, trace: Trace, item: Any) -> Any:
        super().m_append(trace, item)
        self._trim(left=False)
        return Constant(None)

    def m_extend(self, trace: Trace, more: Any) -> Any:
        super().m_extend(trace, more)
        self._trim(left=False)
        return Constant(None)

    def m___imul__(self, trace: Trace, times: Any) -> Any:
        done = super().m___imul__(trace, times)
        self._trim(left=False)
        return done

    def m_appendleft(self, trace: Trace, item: Any) -> Any:
        self.change(trace).insert(0, item)
        self._trim(left=True)
        return Constant(None)

    def m_extendleft(self, trace: Trace, more: Any) -> Any:
        items = (
            list(abstract.unpack(trace, more))
            if abstract.is_settled(trace, more)
            else abstract.each(trace, more)
        )
        for item in items:
            self.m_appendleft(trace, item)
        return Constant(None)

    def m_popleft(self, trace: Trace) -> Any:
        if not self.items:
            return abstract.raise_(trace, IndexError, "pop from an empty deque")
        return self.change(trace).pop(0)

    def m_pop(self, trace: Trace) -> Any:  # type: ignore[override]
        if not self.items:
            return abstract.raise_(trace, IndexError, "pop from an empty deque")
        return self.change(trace).pop()

    def m_rotate(self, trace: Trace, n: Any = None) -> Any:
        by = 1 if n is None else abstract.integer(trace, n)
        real = collections.deque(self.change(trace))
        real.rotate(by)
        self.items[:] = real
        return Constant(None)

    def m_copy(self, trace: Trace) -> Any:
        return self.made_like(self.items)

    m___copy__ = m_copy

    def getattr(self, trace: Trace, name: str) -> Any:
        if name == "maxlen":
            return Constant(self.maxlen)
        return super().getattr(trace, name)


_CHANGED = "deque mutated during iteration"


class DequeIterator(SequenceIterator):
    """Over a deque: refuses to go on once the deque has changed."""

    __slots__ = ("moves",)

    def __init__(self, of: Deque, at: int = 0, reverse: bool = False) -> None:
        super().__init__(of, at, reverse)
        self.moves = of.moves

    def advance(self, trace: Trace) -> Any:
        if self.of.moves != self.moves:
            return abstract.raise_(trace, RuntimeError, _CHANGED)
        return super().advance(trace)

    def rebuild(self, emit: Any) -> str:
        if self.of.moves != self.moves:
            return f"{emit.constant(_stale, 'stale_iterator')}({self.reverse})"
        return super().rebuild(emit)


def _stale(reverse: bool) -> Any:
    """An iterator of a deque that has changed since."""
    of: collections.deque[Any] = collections.deque()
    made = reversed(of) if reverse else iter(of)
    of.append(None)
    return made
