"""Lists, tuples and their kin: items are abstract values, the container is known exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard, cast

from suture._core import type_name
from suture.breaks import Break, objects
from suture.bytecode.language import NOT_IN_LIST, NOT_IN_TUPLE
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Held, Lazy, Mutable, Trace, Value
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import find_method, method, type_of_bound
from suture.runtime.sources import Source

_CONCATENATING = frozenset({"__add__", "__iadd__", "__mul__", "__imul__", "__rmul__"})


class BuiltinMethod(BoundMethod):
    """A bound method of a builtin container, such as `items.append`."""

    __slots__ = ()

    def python_type(self) -> type:
        return type_of_bound(self.owner.python_type(), self.name)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if find_method(type(self.owner), self.name) is None:
            raise Break(
                objects.UNKNOWN_OBJECT,
                operation=f"call method {self.name} of",
                object=self.owner.describe(),
            )
        done = abstract.tail_call_method(trace, self.owner, self.name, args, kwargs)
        if self.name in _CONCATENATING and done.is_constant():
            if done.constant() is NotImplemented:  # the operator tries the other, a call raises
                kind = type_name(self.owner.python_type())
                other = args[0].python_type().__name__
                text = f'can only concatenate {kind} (not "{other}") to {kind}'
                if "mul" in self.name:
                    text = f"'{other}' object cannot be interpreted as an integer"
                return abstract.raise_(trace, TypeError, text)
        return done

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return Constant(self.name)
        return super().getattr(trace, name)


class Container(Mutable):
    """What builtin containers share: `m_<name>` methods are the methods of the real type."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Value:
        return abstract.container_attribute(trace, self, name)


@method(Container, "__class__")
def container_class(self: Container, trace: Trace) -> Value:
    return abstract.wrap(trace, self.python_type(), None)


class Sequence(Container):
    """Common to list and tuple: `items` holds values, or Lazy where nobody looked yet."""

    __slots__ = ("changes", "items", "settled")
    kind: type = tuple

    def __init__(self, items: Iterable[Held], source: Source | None = None) -> None:
        super().__init__(source)
        self.items: list[Held] = list(items)
        self.settled = False  # nothing in `items` is Lazy any more
        self.changes = 0  # how often a list was about to change

    def as_constant(self, trace: Trace) -> Any:
        return self.known([abstract.constant_value(trace, i) for i in self.unpacked(trace)])

    def python_type(self) -> type:
        return self.kind

    def unpacked(self, trace: Trace) -> list[Value]:
        """All items, looked at."""
        items = self.items
        if not self.settled:
            if self.source is not None and len(items) > MOST_GUARDED:
                what = f"{len(items)} items"
                raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=what)
            for i, item in enumerate(items):
                if type(item) is Lazy:
                    items[i] = abstract.realize(trace, item)
            self.settled = True
        return cast(list[Value], items)

    def is_constant(self) -> bool:
        return False

    def truth(self, trace: Trace) -> bool | None:
        return bool(self.items)

    def as_proxy(self) -> Any:
        return self.kind(proxy_of(i) for i in self.items)

    def at(self, trace: Trace, i: int) -> Value:
        item = self.items[i]
        if type(item) is Lazy:
            item = self.items[i] = abstract.realize(trace, item)
        return item

    def made_like(self, items: Iterable[Held]) -> Sequence:
        return type(self)(items)

    def known(self, values: list[Any]) -> Any:
        """The real container of these values."""
        return self.kind(values)

    # ---- methods of the real type


def is_list_or_tuple(value: object) -> TypeGuard[Sequence]:
    """Whether a value is a list or a tuple, made here or from outside, and nothing derived."""
    return isinstance(value, Sequence) and value.python_type() in (list, tuple)


@method(Sequence, "__len__")
def sequence_len(self: Sequence, trace: Trace) -> Value:
    return Constant(len(self.items))


@method(Sequence, "__getitem__")
def sequence_getitem(self: Sequence, trace: Trace, key: Value) -> Value:
    if self.source is not None and not key.is_constant():
        picked = picked_item(trace, self, key)
        if picked is not None:
            return picked
    where = abstract.index_of(trace, key, len(self.items), self.kind.__name__)
    if isinstance(where, slice):
        return self.made_like(self.items[where])
    return self.at(trace, where)


@method(Sequence, "__iter__")
def sequence_iter(self: Sequence, trace: Trace) -> Value:
    return sequence_iterator(trace, self)


@method(Sequence, "__contains__")
def sequence_contains(self: Sequence, trace: Trace, item: Value) -> Value:
    for at in self.unpacked(trace):
        if abstract.same_or_equal(trace, at, item):
            return Constant(True)
    return Constant(False)


@method(Sequence, "index")
def sequence_index(
    self: Sequence, trace: Trace, item: Any, start: object = None, stop: object = None
) -> Value:
    low = 0 if start is None else abstract.integer(trace, start)
    high = len(self.items) if stop is None else abstract.integer(trace, stop)
    for i in range(*slice(low, high).indices(len(self.items))):
        if i >= len(self.items):  # the `__eq__` of an item has taken some out
            break
        if abstract.same_or_equal(trace, self.at(trace, i), item):
            return Constant(i)
    text = NOT_IN_LIST if issubclass(self.kind, list) else NOT_IN_TUPLE
    return abstract.raise_(trace, ValueError, text.format(item=item.describe()))


@method(Sequence, "__eq__")
def sequence_eq(self: Sequence, trace: Trace, other: Value) -> Value:
    return sequence_compare(trace, "==", self, other)


@method(Sequence, "__ne__")
def sequence_ne(self: Sequence, trace: Trace, other: Value) -> Value:
    return sequence_compare(trace, "!=", self, other)


@method(Sequence, "__lt__")
def sequence_lt(self: Sequence, trace: Trace, other: Value) -> Value:
    return sequence_compare(trace, "<", self, other)


@method(Sequence, "__le__")
def sequence_le(self: Sequence, trace: Trace, other: Value) -> Value:
    return sequence_compare(trace, "<=", self, other)


@method(Sequence, "__gt__")
def sequence_gt(self: Sequence, trace: Trace, other: Value) -> Value:
    return sequence_compare(trace, ">", self, other)


@method(Sequence, "__ge__")
def sequence_ge(self: Sequence, trace: Trace, other: Value) -> Value:
    return sequence_compare(trace, ">=", self, other)


@method(Sequence, "count")
def sequence_count(self: Sequence, trace: Trace, item: Value) -> Value:
    return Constant(
        sum(1 for at in self.unpacked(trace) if abstract.same_or_equal(trace, at, item))
    )


@method(Sequence, "__add__")
def sequence_add(self: Sequence, trace: Trace, other: Value) -> Value:
    other = abstract.builtin_part(trace, other)
    if not isinstance(other, Sequence) or not issubclass(other.kind, self.kind):
        return Constant(NotImplemented)
    return self.made_like([*self.items, *other.unpacked(trace)])


@method(Sequence, "__mul__", "__rmul__")
def sequence_mul(self: Sequence, trace: Trace, times: Value) -> Value:
    if not abstract.has_index(trace, times):
        return Constant(NotImplemented)
    return self.made_like(repeated(self.unpacked(trace), abstract.integer(trace, times)))


@method(Sequence, "__reversed__")
def sequence_reversed(self: Sequence, trace: Trace) -> Value:
    return sequence_iterator(trace, self, reverse=True)


def repeated(items: list[Any], times: int) -> list[Any]:
    if len(items) * times > _MOST_ITEMS:
        raise MemoryError
    return items * times


_MOST_ITEMS = 1_000_000
MOST_GUARDED = 5_000  # a guard for each item of a longer sequence costs more than it gives


def proxy_of(item: Any) -> Any:
    if type(item) is Lazy:
        raise Break(objects.UNKNOWN_OBJECT, operation="pass to the graph", object="an item")
    return item.as_proxy()


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def picked_item(trace: Trace, of: Sequence, key: Value) -> Value | None:
    """`of[key]` where `key` is a number from outside that changes from call to call: the item that
    it leads to in each call. None: the number had better be known."""


@declared
def may_put(trace: Trace, of: Sequence, key: Value) -> bool:
    """Whether `of[key] = ...` may replace such an item wherever it is: no other of `of` was
    replaced, and nobody sees the end of the object that is there now."""


@declared
def outside_length(trace: Trace, of: Sequence) -> Value | None:
    """How long a list from outside, whose items nobody has asked for, was when the region began,
    if that changes from call to call. None: it had better be known."""


@declared
def sequence_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Value:
    """What `left.__eq__(right)`, `__lt__` and the others (`symbol`) give for a list or a tuple."""


@declared
def sequence_iterator(trace: Trace, of: Sequence, reverse: bool = False) -> Value:
    """`iter(of)` or `reversed(of)` of a list or a tuple: it sees what is appended meanwhile."""
