"""collections.deque: a list with two ends, which knows when it changes under an iterator."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from suture.bytecode.language import NOT_IN_DEQUE, NOT_REMOVED
from suture.compiler import abstract
from suture.compiler.core import Held, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.iterator import SequenceIterator, made_of_changed
from suture.compiler.objects.list_ import List, list_append, list_extend, list_imul, list_insert
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import method, run_method
from suture.runtime.iterators import stale
from suture.runtime.sources import Source


class Deque(List):
    """collections.deque, with its maximal length. `moves` counts what makes iterators invalid,
    `written` are the indices whose items have been replaced."""

    __slots__ = ("maxlen", "moves", "written")
    kind: type = collections.deque

    def __init__(
        self, items: Iterable[Any], source: Source | None = None, maxlen: int | None = None
    ) -> None:
        super().__init__(items, source)
        self.maxlen = maxlen
        self.moves = 0
        self.written: set[int] = set()

    def known(self, values: list[Any]) -> Any:
        return collections.deque(values, self.maxlen)

    def made_like(self, items: Iterable[Held]) -> Deque:
        made = Deque(items, None, self.maxlen)
        made._trim(left=False)
        return made

    def rebuild(self, emit: Emitter) -> str:
        made = f"{emit.constant(collections.deque, 'deque')}(maxlen={self.maxlen})"
        name = str(emit.begin(self, made))
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"{name}.extend([{inner}])")
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        """By the builtin type's own methods: `name` may be of a class that has others."""
        real = emit.constant(collections.deque, "deque")
        if not self.moves and self.source is not None:  # iterators of it stay valid
            for i in sorted(self.written):
                emit.line(f"{real}.__setitem__({name}, {i}, {emit.value(self.items[i])})")
            return
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"{real}.__init__({name}, [{inner}], {self.maxlen})")

    def change(self, trace: Trace) -> list[Value]:
        items = super().change(trace)
        self.moves += 1
        return items

    def start(self, trace: Trace, items: list[Any], maxlen: int | None) -> None:
        """What `deque.__init__` does, also to one that exists."""
        self.change(trace)[:] = items
        self.maxlen = maxlen
        self._trim(left=False)

    def _trim(self, left: bool) -> None:
        if self.maxlen is not None:
            while len(self.items) > self.maxlen:
                self.items.pop(-1 if left else 0)

    def _found(
        self, trace: Trace, item: object, low: int, high: int, error: type, text: str
    ) -> list[int]:
        """The indices of an item; a comparison must not change the deque."""
        moves, out = self.moves, []
        for i in range(low, high):
            equal = abstract.same_or_equal(trace, self.at(trace, i), item)
            if self.moves != moves:
                abstract.raise_(trace, error, text)
            if equal:
                out.append(i)
        return out

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "maxlen":
            return Constant(self.maxlen)
        return super().getattr(trace, name)


@method(Deque, "__setitem__")
def deque_setitem(self: Deque, trace: Trace, key: Value, value: Any) -> Value:
    at = abstract.index_of(trace, key, len(self.items), "deque")
    if isinstance(at, slice):
        return abstract.raise_(trace, TypeError, "sequence index must be integer, not 'slice'")
    self.unpacked(trace)
    self.touch(trace)
    self.items[at] = value
    self.written.add(at)
    return Constant(None)


@method(Deque, "__getitem__")
def deque_getitem(self: Deque, trace: Trace, key: Value) -> Value:
    at = abstract.index_of(trace, key, len(self.items), "deque")
    if isinstance(at, slice):
        return abstract.raise_(trace, TypeError, "sequence index must be integer, not 'slice'")
    return self.at(trace, at)


@method(Deque, "__iter__")
def deque_iter(self: Deque, trace: Trace) -> Value:
    return DequeIterator(self, made_of_changed(trace, self) if self.moves else None)


@method(Deque, "__reversed__")
def deque_reversed(self: Deque, trace: Trace) -> Value:
    return DequeIterator(self, made_of_changed(trace, self) if self.moves else None, True)


@method(Deque, "__contains__")
def deque_contains(self: Deque, trace: Trace, item: Value) -> Value:
    for i in range(len(self.items)):
        if self._found(trace, item, i, i + 1, RuntimeError, _CHANGED):
            return Constant(True)
    return Constant(False)


@method(Deque, "index")
def deque_index(
    self: Deque, trace: Trace, item: object, start: object = None, stop: object = None
) -> Value:
    low = 0 if start is None else abstract.integer(trace, start)
    high = len(self.items) if stop is None else abstract.integer(trace, stop)
    for i in range(*slice(low, high).indices(len(self.items))):
        if self._found(trace, item, i, i + 1, RuntimeError, _CHANGED):
            return Constant(i)
    text = abstract.constant_value(trace, abstract.convert_value(trace, item, "repr"))
    return abstract.raise_(trace, ValueError, NOT_IN_DEQUE.format(item=text))


@method(Deque, "count")
def deque_count(self: Deque, trace: Trace, item: Value) -> Value:
    found = self._found(trace, item, 0, len(self.items), RuntimeError, _CHANGED)
    return Constant(len(found))


@method(Deque, "remove")
def deque_remove(self: Deque, trace: Trace, item: Value) -> Value:
    for i in range(len(self.items)):
        text = "deque mutated during remove()."
        if self._found(trace, item, i, i + 1, IndexError, text):
            del self.change(trace)[i]
            return Constant(None)
    shown = abstract.constant_value(trace, abstract.convert_value(trace, item, "repr"))
    return abstract.raise_(trace, ValueError, NOT_REMOVED.format(item=shown))


@method(Deque, "insert")
def deque_insert(self: Deque, trace: Trace, where: Value, item: Value) -> Value:
    if self.maxlen is not None and len(self.items) >= self.maxlen:
        return abstract.raise_(trace, IndexError, "deque already at its maximum size")
    return list_insert(self, trace, where, item)


@method(Deque, "append")
def deque_append(self: Deque, trace: Trace, item: Value) -> Value:
    list_append(self, trace, item)
    self._trim(left=False)
    return Constant(None)


@method(Deque, "extend")
def deque_extend(self: Deque, trace: Trace, more: Value) -> Value:
    list_extend(self, trace, more)
    self._trim(left=False)
    return Constant(None)


@method(Deque, "__imul__")
def deque_imul(self: Deque, trace: Trace, times: Value) -> Value:
    done = list_imul(self, trace, times)
    self._trim(left=False)
    return done


@method(Deque, "appendleft")
def deque_appendleft(self: Deque, trace: Trace, item: Value) -> Value:
    self.change(trace).insert(0, item)
    self._trim(left=True)
    return Constant(None)


@method(Deque, "extendleft")
def deque_extendleft(self: Deque, trace: Trace, more: Value) -> Value:
    items = (
        list(abstract.unpack(trace, more))
        if abstract.is_settled(trace, more)
        else abstract.each(trace, more)
    )
    for item in items:
        run_method(trace, self, "appendleft", item)
    return Constant(None)


@method(Deque, "popleft")
def deque_popleft(self: Deque, trace: Trace) -> Value:
    if not self.items:
        return abstract.raise_(trace, IndexError, "pop from an empty deque")
    return self.change(trace).pop(0)


@method(Deque, "pop")
def deque_pop(self: Deque, trace: Trace) -> Value:
    if not self.items:
        return abstract.raise_(trace, IndexError, "pop from an empty deque")
    return self.change(trace).pop()


@method(Deque, "rotate")
def deque_rotate(self: Deque, trace: Trace, n: object = None) -> Value:
    by = 1 if n is None else abstract.integer(trace, n)
    real = collections.deque(self.change(trace))
    real.rotate(by)
    self.items[:] = real
    return Constant(None)


@method(Deque, "copy", "__copy__")
def deque_copy(self: Deque, trace: Trace) -> Value:
    return self.made_like(self.items)


_CHANGED = "deque mutated during iteration"


class DequeIterator(SequenceIterator):
    """Over a deque: refuses to go on once the deque has changed."""

    __slots__ = ("moves", "position")

    def __init__(self, of: Deque, position: Any, reverse: bool = False) -> None:
        super().__init__(of, 0, reverse)
        self.moves = of.moves
        self.position = position  # where it was made, if the deque held other items before

    def advance(self, trace: Trace) -> Value:
        if self.of.moves != self.moves:
            return abstract.raise_(trace, RuntimeError, _CHANGED)
        return super().advance(trace)

    def rebuild(self, emit: Emitter) -> str:
        if self.of.moves != self.moves:
            return f"{emit.constant(stale, 'stale_iterator')}({self.reverse})"
        if self.position is not None and self.at <= len(self.of.items):
            raise MadeByPython(self.position, "an iterator over a deque that was changed before")
        return super().rebuild(emit)
