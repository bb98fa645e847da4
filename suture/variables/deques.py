"""collections.deque: a list with two ends, which knows when it changes under an iterator."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from suture.variables.constant import Constant
from suture.variables.iterators import SequenceIterator
from suture.variables.sequence import List


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

    def change(self, tx: Any) -> list[Any]:
        items = super().change(tx)
        self.moves += 1
        return items

    def _trim(self, left: bool) -> None:
        if self.maxlen is not None:
            while len(self.items) > self.maxlen:
                self.items.pop(-1 if left else 0)

    def _found(self, tx: Any, item: Any, low: int, high: int, error: type, text: str) -> list[int]:
        """The places of an item; a comparison must not change the deque."""
        moves, out = self.moves, []
        for i in range(low, high):
            equal = tx.same_or_equal(self.at(tx, i), item)
            if self.moves != moves:
                tx.raise_(error, text)
            if equal:
                out.append(i)
        return out

    def m___setitem__(self, tx: Any, key: Any, value: Any) -> Any:
        at = tx.index_of(key, len(self.items), "deque")
        if isinstance(at, slice):
            return tx.raise_(TypeError, "sequence index must be integer, not 'slice'")
        self.unpacked(tx)
        self.touch(tx)
        self.items[at] = value
        self.written.add(at)
        return Constant(None)

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        at = tx.index_of(key, len(self.items), "deque")
        if isinstance(at, slice):
            return tx.raise_(TypeError, "sequence index must be integer, not 'slice'")
        return self.at(tx, at)

    def m___iter__(self, tx: Any) -> Any:
        return DequeIterator(self, 0)

    def m___reversed__(self, tx: Any) -> Any:
        return DequeIterator(self, 0, True)

    def m___contains__(self, tx: Any, item: Any) -> Any:
        for i in range(len(self.items)):
            if self._found(tx, item, i, i + 1, RuntimeError, _CHANGED):
                return Constant(True)
        return Constant(False)

    def m_index(self, tx: Any, item: Any, start: Any = None, stop: Any = None) -> Any:
        low = 0 if start is None else tx.integer(start)
        high = len(self.items) if stop is None else tx.integer(stop)
        for i in range(*slice(low, high).indices(len(self.items))):
            if self._found(tx, item, i, i + 1, RuntimeError, _CHANGED):
                return Constant(i)
        text = tx.constant_value(tx.convert_value(item, "repr"))
        return tx.raise_(ValueError, f"{text} is not in deque")

    def m_count(self, tx: Any, item: Any) -> Any:
        found = self._found(tx, item, 0, len(self.items), RuntimeError, _CHANGED)
        return Constant(len(found))

    def m_remove(self, tx: Any, item: Any) -> Any:
        for i in range(len(self.items)):
            text = "deque mutated during remove()."
            if self._found(tx, item, i, i + 1, IndexError, text):
                del self.change(tx)[i]
                return Constant(None)
        shown = tx.constant_value(tx.convert_value(item, "repr"))
        return tx.raise_(ValueError, f"{shown} is not in deque")

    def m_insert(self, tx: Any, where: Any, item: Any) -> Any:
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            return tx.raise_(IndexError, "deque already at its maximum size")
        return super().m_insert(tx, where, item)

    def m_append(self, tx: Any, item: Any) -> Any:
        super().m_append(tx, item)
        self._trim(left=False)
        return Constant(None)

    def m_extend(self, tx: Any, more: Any) -> Any:
        super().m_extend(tx, more)
        self._trim(left=False)
        return Constant(None)

    def m___imul__(self, tx: Any, times: Any) -> Any:
        done = super().m___imul__(tx, times)
        self._trim(left=False)
        return done

    def m_appendleft(self, tx: Any, item: Any) -> Any:
        self.change(tx).insert(0, item)
        self._trim(left=True)
        return Constant(None)

    def m_extendleft(self, tx: Any, more: Any) -> Any:
        items = list(tx.unpack(more)) if tx.is_settled(more) else tx.each(more)
        for item in items:
            self.m_appendleft(tx, item)
        return Constant(None)

    def m_popleft(self, tx: Any) -> Any:
        if not self.items:
            return tx.raise_(IndexError, "pop from an empty deque")
        return self.change(tx).pop(0)

    def m_pop(self, tx: Any) -> Any:  # type: ignore[override]
        if not self.items:
            return tx.raise_(IndexError, "pop from an empty deque")
        return self.change(tx).pop()

    def m_rotate(self, tx: Any, n: Any = None) -> Any:
        by = 1 if n is None else tx.integer(n)
        real = collections.deque(self.change(tx))
        real.rotate(by)
        self.items[:] = real
        return Constant(None)

    def m_copy(self, tx: Any) -> Any:
        return self.made_like(self.items)

    m___copy__ = m_copy

    def getattr(self, tx: Any, name: str) -> Any:
        if name == "maxlen":
            return Constant(self.maxlen)
        return super().getattr(tx, name)


_CHANGED = "deque mutated during iteration"


class DequeIterator(SequenceIterator):
    """Over a deque: refuses to go on once the deque has changed."""

    __slots__ = ("moves",)

    def __init__(self, of: Deque, at: int = 0, reverse: bool = False) -> None:
        super().__init__(of, at, reverse)
        self.moves = of.moves

    def advance(self, tx: Any) -> Any:
        if self.of.moves != self.moves:
            return tx.raise_(RuntimeError, _CHANGED)
        return super().advance(tx)

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
