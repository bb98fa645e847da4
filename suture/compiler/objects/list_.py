"""list."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from suture._core import type_name
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.sequence import Sequence, repeated


class List(Sequence):
    """A list."""

    __slots__ = ()
    kind: type = list

    def hash_key(self, trace: Trace) -> Hashable:
        return abstract.raise_(trace, TypeError, f"unhashable type: '{type_name(self.kind)}'")

    def rebuild(self, emit: Emitter) -> str:
        name = emit.begin(self, "[]")
        if self.items:
            inner = ", ".join(emit.value(i) for i in self.items)
            emit.line(f"list.__setitem__({name}, slice(None), [{inner}])")
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"list.__setitem__({name}, slice(None), [{inner}])")

    def change(self, trace: Trace) -> list[Value]:
        """The items, about to change: all of them are looked at and noted as touched."""
        items = self.unpacked(trace)
        self.touch(trace)
        self.changes += 1
        return items


@method(List, "append")
def list_append(self: List, trace: Trace, item: Value) -> Value:
    self.change(trace).append(item)
    return Constant(None)


@method(List, "extend")
def list_extend(self: List, trace: Trace, more: Any) -> Value:
    if abstract.is_settled(trace, more):
        new = list(abstract.unpack(trace, more, asked=True))
        self.change(trace).extend(new)
        return Constant(None)
    iterator = abstract.iterate(trace, more)
    abstract.ask_length(trace, more)
    for item in abstract.each(
        trace, iterator
    ):  # what gives the items may look at the list meanwhile
        run_method(trace, self, "append", item)
    return Constant(None)


@method(List, "insert")
def list_insert(self: List, trace: Trace, where: Value, item: Value) -> Value:
    at = abstract.integer(trace, where)
    self.change(trace).insert(at, item)
    return Constant(None)


@method(List, "pop")
def list_pop(self: List, trace: Trace, where: object = None) -> Value:
    at = -1 if where is None else abstract.integer(trace, where)
    if not self.items:
        return abstract.raise_(trace, IndexError, "pop from empty list")
    if not -len(self.items) <= at < len(self.items):
        return abstract.raise_(trace, IndexError, "pop index out of range")
    return self.change(trace).pop(at)


@method(List, "remove")
def list_remove(self: List, trace: Trace, item: Value) -> Value:
    for i, at in enumerate(self.unpacked(trace)):
        if abstract.same_or_equal(trace, at, item):
            del self.change(trace)[i]
            return Constant(None)
    return abstract.raise_(trace, ValueError, "list.remove(x): x not in list")


@method(List, "clear")
def list_clear(self: List, trace: Trace) -> Value:
    self.change(trace).clear()
    return Constant(None)


@method(List, "copy")
def list_copy(self: List, trace: Trace) -> Value:
    return List(self.items)


@method(List, "reverse")
def list_reverse(self: List, trace: Trace) -> Value:
    self.change(trace).reverse()
    return Constant(None)


@method(List, "sort")
def list_sort(self: List, trace: Trace, *, key: Any = None, reverse: Any = None) -> Value:
    items = list(self.change(trace))
    self.items.clear()  # as Python does: what compares finds an empty list
    before = self.changes
    try:
        sort(trace, items, key, reverse)
    finally:
        self.items[:] = items
    if self.changes != before:
        return abstract.raise_(trace, ValueError, "list modified during sort")
    return Constant(None)


@method(List, "__setitem__")
def list_setitem(self: List, trace: Trace, key: Value, value: Any) -> Value:
    where = abstract.index_of(trace, key, len(self.items), "list assignment")
    if isinstance(where, slice):
        new = list(abstract.unpack(trace, value))
        try:
            trial = list(self.items)
            trial[where] = new
        except ValueError as error:
            return abstract.raise_(trace, ValueError, *error.args)
        self.change(trace)[where] = new
    else:
        self.change(trace)[where] = value
    return Constant(None)


@method(List, "__delitem__")
def list_delitem(self: List, trace: Trace, key: Value) -> Value:
    where = abstract.index_of(trace, key, len(self.items), "list assignment")
    del self.change(trace)[where]
    return Constant(None)


@method(List, "__iadd__")
def list_iadd(self: List, trace: Trace, more: Value) -> Value:
    run_method(trace, self, "extend", more)
    return self


@method(List, "__imul__")
def list_imul(self: List, trace: Trace, times: Value) -> Value:
    if not abstract.has_index(trace, times):
        return Constant(NotImplemented)
    n = abstract.integer(trace, times)
    items = self.change(trace)
    items[:] = repeated(items, n)
    return self


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def sort(trace: Trace, items: list[Any], key: Value | None, reverse: Value | None) -> None:
    """Put the items in order by the comparisons the program would make; if one raises, they
    are left as far as Python has come."""
