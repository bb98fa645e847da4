"""Containers from outside that only grow: what they hold is not looked at, nor guarded.

A loop that collects results appends to one list in every turn, or makes a longer tuple. If the
region needed to know what it holds, each turn would need a variant of its own. So the contents are
loaded, with their guards, when they are first read; until then additions are kept apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Held, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import sequence
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.deque import Deque, deque_append, deque_extend
from suture.compiler.objects.list_ import List, list_append, list_extend, list_setitem
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.sequence import sequence_add, sequence_len
from suture.compiler.objects.set_ import Set, set_add, set_len
from suture.compiler.objects.set_keys import as_numbers
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source


class _OnDemand:
    """What the sequences here have in common: `items` is made when it is first read. The slots
    are theirs, since two bases with slots do not go together."""

    __slots__ = ()

    _items: list[Any] | None
    _load: Callable[[], list[Any]]
    added: list[Any]

    @property
    def items(self) -> list[Any]:
        found = self._items
        return self.load() if found is None else found

    @items.setter
    def items(self, value: list[Any]) -> None:
        self._items = value  # type: ignore[misc]

    def load(self) -> list[Any]:
        found = [*self._load(), *self.added]
        self._items = found  # type: ignore[misc]
        return found

    def loaded(self) -> bool:
        """Whether somebody has asked for the items."""
        return self._items is not None


class GrowingList(_OnDemand, List):
    """`load()` gives the items that `outside`, the real list, has already, and guards them. `added`
    holds what was appended before anybody asked for them; `put` what was put in at a number from
    outside that changes from call to call, by the number's source. Who asks for the items has that
    number known."""

    __slots__ = ("_items", "_load", "added", "outside", "put")

    def __init__(
        self, load: Callable[[], list[Any]], source: Source | None, outside: list[Any]
    ) -> None:
        self._load = load
        self.outside = outside
        self._items: list[Any] | None = None
        self.added: list[Any] = []
        self.put: dict[Source, tuple[Value, Callable[[], int], Value]] = {}
        super(List, self).__init__((), source)
        self._items = None

    def load(self) -> list[Any]:
        found = super().load()
        for _, index, value in self.put.values():
            found[index()] = value
        return found

    def truth(self, trace: Trace) -> bool | None:
        if self._items is None and self.added:
            return True
        length = sequence.outside_length(trace, self) if self._items is None else None
        return super().truth(trace) if length is None else abstract.truth(trace, length)

    def write_back(self, emit: Emitter, name: str) -> None:
        if self._items is not None:
            super().write_back(emit, name)
            return
        for index, _, value in self.put.values():
            emit.line(f"list.__setitem__({name}, {emit.value(index)}, {emit.value(value)})")
        if len(self.added) == 1:
            emit.line(f"list.append({name}, {emit.value(self.added[0])})")
        elif self.added:
            inner = ", ".join(emit.value(i) for i in self.added)
            emit.line(f"list.extend({name}, [{inner}])")

    def made_like(self, items: Iterable[Held]) -> List:
        return List(items)


@method(GrowingList, "__len__")
def growing_list_len(self: GrowingList, trace: Trace) -> Value:
    found = sequence.outside_length(trace, self) if self._items is None else None
    if found is None:
        return sequence_len(self, trace)
    return abstract.binary(trace, "add", found, Constant(len(self.added))) if self.added else found


@method(GrowingList, "__setitem__")
def growing_list_setitem(self: GrowingList, trace: Trace, key: Value, value: Any) -> Value:
    """An item at an index from outside that changes is replaced there, in each call."""
    index = key.source
    if index is None or self._items is not None or not sequence.may_put(trace, self, key):
        return list_setitem(self, trace, key, value)
    self.touch(trace)
    self.changes += 1
    self.put[index] = (key, lambda: abstract.integer(trace, key), value)
    return Constant(None)


@method(GrowingList, "append")
def growing_list_append(self: GrowingList, trace: Trace, item: Value) -> Value:
    if self._items is not None:
        return list_append(self, trace, item)
    self.touch(trace)
    self.added.append(item)
    return Constant(None)


@method(GrowingList, "extend")
def growing_list_extend(self: GrowingList, trace: Trace, more: Value) -> Value:
    if not abstract.is_settled(trace, more):
        return list_extend(self, trace, more)
    new = list(abstract.unpack(trace, more, asked=True))
    if self._items is None:
        self.touch(trace)
        self.added.extend(new)
    else:
        self.change(trace).extend(new)
    return Constant(None)


class GrowingDeque(_OnDemand, Deque):
    """The same for a deque: `size` says how many items there are. What is added drops others at
    the other end if there is a maximal length, and the real deque knows how."""

    __slots__ = ("_items", "_load", "_size", "added")

    def __init__(
        self, load: Callable[[], list[Any]], size: int, source: Source | None, maxlen: int | None
    ) -> None:
        self._load = load
        self._size = size
        self._items: list[Any] | None = None
        self.added: list[Any] = []
        super().__init__((), source, maxlen)
        self._items = None

    def load(self) -> list[Any]:
        super().load()
        self._trim(left=False)
        return self.items

    def truth(self, trace: Trace) -> bool | None:
        return bool(run_method(trace, self, "__len__").constant())

    def write_back(self, emit: Emitter, name: str) -> None:
        if self._items is not None:
            super().write_back(emit, name)
        else:
            inner = ", ".join(emit.value(i) for i in self.added)
            emit.line(f"{name}.extend([{inner}])")


@method(GrowingDeque, "append")
def growing_deque_append(self: GrowingDeque, trace: Trace, item: Value) -> Value:
    if self._items is not None:
        return deque_append(self, trace, item)
    self.touch(trace)
    self.moves += 1
    self.added.append(item)
    return Constant(None)


@method(GrowingDeque, "extend")
def growing_deque_extend(self: GrowingDeque, trace: Trace, more: Value) -> Value:
    if self._items is not None or not abstract.is_settled(trace, more):
        return deque_extend(self, trace, more)
    for item in abstract.unpack(trace, more):
        run_method(trace, self, "append", item)
    return Constant(None)


@method(GrowingDeque, "__len__")
def growing_deque_len(self: GrowingDeque, trace: Trace) -> Value:
    if self._items is not None or self.added:
        return sequence_len(self, trace)
    trace.guards.add(self.known_source.call(len), "equals", self._size)
    return Constant(self._size)


class GrowingTuple(_OnDemand, Tuple):
    """`load()` gives the items of a tuple from outside, and guards them. With `base` it is such a
    tuple and what was `added` to it."""

    __slots__ = ("_items", "_load", "added", "base")

    def __init__(
        self,
        load: Callable[[], list[Any]],
        source: Source | None,
        base: GrowingTuple | None = None,
        added: list[Any] | None = None,
    ) -> None:
        self._load = load
        self._items: list[Any] | None = None
        self.base = base
        self.added = added or []
        super().__init__((), source)
        self._items = None

    def truth(self, trace: Trace) -> bool | None:
        return True if self.added else super().truth(trace)

    def is_constant(self) -> bool:
        return self.loaded() and super().is_constant()

    def identity(self) -> Hashable:
        return super(Tuple, self).identity()

    def rebuild(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(i) for i in self.added)
        return f"({emit.value(self.base)} + ({inner},))" if self.added else super().rebuild(emit)


@method(GrowingTuple, "__add__")
def growing_tuple_add(self: GrowingTuple, trace: Trace, other: Value) -> Value:
    more = abstract.builtin_part(trace, other)
    if self.loaded() or type(more) is not Tuple or not more.items:
        return sequence_add(self, trace, other)
    base = self.base or self
    added = [*self.added, *more.unpacked(trace)]
    return GrowingTuple(lambda: base.items, None, base, added)


class GrowingSet(Set):
    """The same for a set: `load()` gives its entries, `length` says how many there are."""

    __slots__ = ("_entries", "_length", "_load", "added")

    def __init__(
        self, load: Callable[[], dict[Any, Any]], length: int, source: Source | None
    ) -> None:
        self._load = load
        self._length = length
        self._entries: dict[Any, Any] | None = None
        self.added: dict[Any, Any] = {}
        super().__init__({}, source)
        self._entries = None

    @property
    def entries(self) -> dict[Any, Any]:
        if self._entries is None:
            self._entries = self._load()
            for key, item in self.added.items():
                self._entries.setdefault(key, item)
        return self._entries

    @entries.setter
    def entries(self, value: dict[Any, Any]) -> None:
        self._entries = value

    def truth(self, trace: Trace) -> bool | None:
        return bool(run_method(trace, self, "__len__").constant())

    def write_back(self, emit: Emitter, name: str) -> None:
        if self.added:  # before its members were looked at
            inner = ", ".join(emit.value(i) for i in self.added.values())
            emit.line(f"set.update({name}, [{inner}])")
        if self._entries is not None:
            super().write_back(emit, name)


@method(GrowingSet, "add")
def growing_set_add(self: GrowingSet, trace: Trace, item: Any) -> Value:
    if self._entries is not None:
        return set_add(self, trace, item)
    item = as_numbers(trace, item)  # numbers may be in there already
    key = item.hash_key(trace)
    self.touch(trace)
    self.added.setdefault(key, item)
    return Constant(None)


@method(GrowingSet, "__len__")
def growing_set_len(self: GrowingSet, trace: Trace) -> Value:
    if self._entries is not None or self.added:
        return set_len(self, trace)
    trace.guards.add(self.known_source.call(len), "equals", self._length)
    return Constant(self._length)
