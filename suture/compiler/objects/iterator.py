"""Iterators made while tracing. Each can be made real, advanced as far as it is."""

from __future__ import annotations

import collections
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Mutable, Raised, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import method
from suture.runtime.iterators import advanced, outdated, outdated_set, taken


class _End(Value):
    """What `advance` gives behind the last element."""

    __slots__ = ()

    def describe(self) -> str:
        return "the end of an iterator"


END = _End()
_LIST_ITERATOR = type(iter([]))  # type: ignore[var-annotated]


class Iterator(Mutable):
    """`advance` gives the next element or END. The real counterpart is made by `rebuild`."""

    __slots__ = ()

    def advance(self, trace: Trace) -> Value:
        return END

    def remaining(self, trace: Trace) -> list[Any]:
        """All that is left; the iterator is then exhausted."""
        out = []
        while (item := self.advance(trace)) is not END:
            out.append(item)
        return out

    def getattr(self, trace: Trace, name: str) -> Value:
        return abstract.container_attribute(trace, self, name)


@method(Iterator, "__iter__")
def iterator_iter(self: Iterator, trace: Trace) -> Value:
    return self


@method(Iterator, "__next__")
def iterator_next(self: Iterator, trace: Trace) -> Value:
    item = self.advance(trace)
    return abstract.raise_(trace, StopIteration) if item is END else item


class SequenceIterator(Iterator):
    """Over a list or tuple that may still grow; forward or reversed, then from the `start` it had
    when the iterator was made."""

    __slots__ = ("at", "of", "reverse", "start")

    def __init__(self, of: Any, at: int = 0, reverse: bool = False) -> None:
        super().__init__(None)
        self.of = of
        self.at = at
        self.reverse = reverse
        self.start = len(of.items) if reverse else 0

    def python_type(self) -> type:
        real = self.of.kind()
        return type(reversed(real)) if self.reverse else type(iter(real))

    def advance(self, trace: Trace) -> Value:
        i = self.start - 1 - self.at if self.reverse else self.at
        if not 0 <= i < len(self.of.items):
            self.at = 1 << 60  # stays exhausted, even if the list grows
            return END
        self.touch(trace)
        self.at += 1
        item: Value = self.of.at(trace, i)
        return item

    def rebuild(self, emit: Emitter) -> str:
        if self.at >= 1 << 60:
            return "iter(())"
        of = emit.value(self.of)
        if self.reverse:
            name = str(emit.begin(self, f"reversed({of})"))
            if self.of.kind in (list, tuple):
                emit.last(f"{name}.__setstate__({self.start - 1 - self.at})")
                return name
            for _ in range(self.at):
                emit.last(f"next({name})")
            return name
        name = str(emit.begin(self, f"iter({of})"))
        if self.at:
            if self.of.kind in (list, tuple):
                emit.last(f"{name}.__setstate__({self.at})")
            else:
                emit.last(f"for _ in range({self.at}): next({name})")
        return name


@method(SequenceIterator, "__length_hint__")
def sequence_iterator_length_hint(self: SequenceIterator, trace: Trace) -> Value:
    size = len(self.of.items)
    if not self.reverse:
        return Constant(max(0, size - self.at))
    left = self.start - self.at
    return Constant(left if 0 <= left <= size else 0)  # it ends where the sequence got shorter


class ListIterator(Iterator):
    """Over elements that are all known: views, sets, strings, ranges, unpacked results."""

    __slots__ = ("at", "cls", "items")

    def __init__(self, items: list[Value], cls: type = _LIST_ITERATOR) -> None:
        super().__init__(None)
        self.items = items
        self.at = 0
        self.cls = cls

    def python_type(self) -> type:
        return self.cls

    def advance(self, trace: Trace) -> Value:
        if self.at >= len(self.items):
            return END
        self.touch(trace)
        self.at += 1
        return self.items[self.at - 1]

    def rebuild(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(i) for i in self.items[self.at :])
        return f"iter([{inner}])"


@method(ListIterator, "__length_hint__")
def list_iterator_length_hint(self: ListIterator, trace: Trace) -> Value:
    return Constant(len(self.items) - self.at)


class CalledIterator(ListIterator):
    """What `fn(*args)` gives: an iterator over elements that are known, of arguments that never
    change. Python makes it anew in each call of a variant that it leaves."""

    __slots__ = ("args", "fn")

    def __init__(self, items: list[Any], cls: type, fn: Any, args: list[Value]) -> None:
        super().__init__(items, cls)
        self.fn = fn
        self.args = args

    def rebuild(self, emit: Emitter) -> str:
        args = ", ".join(emit.constant(a, "arg") for a in self.args)
        made = f"{emit.constant(self.fn, 'iterate')}({args})"
        if not self.at:
            return made
        return f"{emit.constant(taken, 'taken')}({made}, {self.at})"


class IndexIterator(Iterator):
    """Over an object with __getitem__ only: asked with 0, 1, 2 until IndexError."""

    __slots__ = ("at", "of")

    def __init__(self, of: Any) -> None:
        super().__init__(None)
        self.of = of
        self.at = 0

    def python_type(self) -> type:
        return type(iter(_Indexed()))

    def advance(self, trace: Trace) -> Value:
        if self.at < 0:
            return END
        try:
            item = abstract.getitem(trace, self.of, Constant(self.at))
        except Raised as raised:
            if not issubclass(raised.exception.python_type(), (IndexError, StopIteration)):
                raise
            self.touch(trace)
            self.at = -1
            return END
        self.touch(trace)
        self.at += 1
        return item

    def rebuild(self, emit: Emitter) -> str:
        if self.at < 0:
            return "iter(())"
        name = str(emit.begin(self, f"iter({emit.value(self.of)})"))
        emit.last(f"{name}.__setstate__({self.at})")
        return name


class _Indexed:
    def __getitem__(self, i: int) -> int:
        raise IndexError


def made_of_changed(trace: Trace, of: Any) -> Any:
    """Where an iterator over a container from outside is made that the region has changed: it can
    be made real only behind that change, so if it leaves the region Python makes it. Else None."""
    holder = getattr(of, "owner", of)  # of an instance's dict
    if of.source is None or not holder.changed:
        return None
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    if position in trace.region.plan.by_python:
        raise Break(objects.UNKNOWN_OBJECT, operation="iterate over", object=of.describe())
    return position


class DictIterator(Iterator):
    """Over a dict's keys, values or items; the dict must not change its size meanwhile."""

    __slots__ = ("at", "inserted", "keys", "of", "position", "reverse", "size", "what")

    def __init__(
        self, of: Any, what: str, keys: list[Any], reverse: bool = False, position: Any = None
    ) -> None:
        super().__init__(None)
        self.of = of
        self.position = position  # where it was made, if the dict held other keys before
        self.what = what
        self.keys = keys
        self.at = 0
        self.size = len(keys)
        self.reverse = reverse
        self.inserted = of.inserted

    def python_type(self) -> type:
        real = getattr({}, self.what)()
        return type(reversed(real)) if self.reverse else type(iter(real))

    def advance(self, trace: Trace) -> Value:
        from suture.compiler.objects.tuple_ import Tuple

        if self.at > len(self.keys):
            return END
        entries = self.of.load(trace)
        ordered = self.of.kind is collections.OrderedDict
        if ordered and self._order_changed():
            return abstract.raise_(trace, RuntimeError, "OrderedDict mutated during iteration")
        if len(entries) != self.size and not ordered:
            self.size = -1
            return abstract.raise_(trace, RuntimeError, "dictionary changed size during iteration")
        if self.at == len(self.keys):
            if self.of.inserted != self.inserted and not ordered:
                return abstract.raise_(
                    trace, RuntimeError, "dictionary keys changed during iteration"
                )
            self.at += 1
            return END
        found = entries.get(self.keys[self.at])
        if found is None:
            return abstract.raise_(trace, RuntimeError, "dictionary keys changed during iteration")
        self.touch(trace)
        self.at += 1
        if self.what == "keys":
            key: Value = found[0]
            return key
        value = self.of.get(trace, found[0])
        return value if self.what == "values" else Tuple([found[0], value])

    def _order_changed(self) -> bool:
        """Whether an OrderedDict refuses to go on: nothing may change in it, but at the end."""
        size = self.size if self.of.backing is not None else len(self.of.entries)
        changed = size != self.size or self.of.inserted != self.inserted
        return changed and self.at < len(self.keys)

    def rebuild(self, emit: Emitter) -> str:
        ordered = self.of.kind is collections.OrderedDict
        if self.at > len(self.keys) or (ordered and self.at == len(self.keys)):
            return "iter(())"
        if ordered and self._order_changed():
            return f"{emit.constant(outdated, 'outdated')}(ordered=True)"
        if self.size < 0 or self.of.known_length() not in (None, self.size):
            return f"{emit.constant(outdated, 'outdated')}()"
        if self.position is not None:
            raise MadeByPython(self.position, "an iterator over a dict that was changed before")
        of = f"{emit.value(self.of)}.{self.what}()"
        made = f"reversed({of})" if self.reverse else f"iter({of})"
        name = str(emit.begin(self, made))
        if self.at:
            emit.line(f"for _ in range({self.at}): next({name})")
        return name


@method(DictIterator, "__length_hint__")
def dict_iterator_length_hint(self: DictIterator, trace: Trace) -> Value:
    return Constant(max(0, len(self.keys) - self.at))


class SetIterator(Iterator):
    """Over a set, which must not change its size meanwhile."""

    __slots__ = ("at", "items", "of", "position", "size")

    def __init__(self, of: Any, items: list[Value], size: int, position: Any = None) -> None:
        super().__init__(None)
        self.position = position  # where it was made, if the set held other members before
        self.of = of
        self.items = items
        self.at = 0
        self.size = size

    def python_type(self) -> type:
        return type(iter(set()))

    def advance(self, trace: Trace) -> Value:
        if self.at > len(self.items):
            return END
        if len(self.of.entries) != self.size:
            self.size = -1
            return abstract.raise_(trace, RuntimeError, "Set changed size during iteration")
        if self.at == len(self.items):
            self.at += 1
            return END
        self.touch(trace)
        self.at += 1
        return self.items[self.at - 1]

    def rebuild(self, emit: Emitter) -> str:
        if self.size == len(self.of.entries) and self.of.keeps_order():
            if self.position is not None:
                raise MadeByPython(self.position, "an iterator over a set that was changed before")
            return f"{emit.constant(advanced, 'advanced')}({emit.value(self.of)}, {self.at})"
        if self.at <= len(self.items) and self.size != len(self.of.entries):
            return f"{emit.constant(outdated_set, 'outdated')}()"
        if self.at <= len(self.items) and self.of.copied is not None:
            raise MadeByPython(self.of.copied.position, "an iterator over a copy of a set")
        inner = ", ".join(emit.value(i) for i in self.items[self.at :])
        return f"iter([{inner}])"


@method(SetIterator, "__length_hint__")
def set_iterator_length_hint(self: SetIterator, trace: Trace) -> Value:
    return Constant(max(0, len(self.items) - self.at))


def range_length(of: range) -> int:
    """len(of), which Python refuses to tell of very long ranges."""
    return max(0, (of.stop - of.start + of.step - (1 if of.step > 0 else -1)) // of.step)


class RangeIterator(Iterator):
    """Over a range; elements are constants, made one at a time."""

    __slots__ = ("at", "of")

    def __init__(self, of: range) -> None:
        super().__init__(None)
        self.of = of
        self.at = 0

    def python_type(self) -> type:
        return type(iter(self.of))

    def advance(self, trace: Trace) -> Value:
        if self.at >= range_length(self.of):
            return END
        self.touch(trace)
        self.at += 1
        return Constant(self.of[self.at - 1])

    def rebuild(self, emit: Emitter) -> str:
        rest = self.of[self.at :]
        step = f", {rest.step}" if rest.step != 1 else ""
        return f"iter(range({rest.start}, {rest.stop}{step}))"


@method(RangeIterator, "__length_hint__")
def range_iterator_length_hint(self: RangeIterator, trace: Trace) -> Value:
    return Constant(range_length(self.of) - self.at)
