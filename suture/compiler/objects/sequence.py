"""Lists, tuples and their kin: items are abstract values, the container is known exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Lazy, Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import find_method, method, run_method
from suture.runtime.sources import Source

_SLICES_HASH = vars(slice).get("__hash__") is not None  # from Python 3.12 on
_CONCATENATING = frozenset({"__add__", "__iadd__", "__mul__", "__imul__", "__rmul__"})


class BuiltinMethod(Value):
    """A bound method of a builtin container, such as `items.append`."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Value, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return type([].append)

    def call(self, trace: Trace, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if find_method(type(self.owner), self.name) is None:
            raise Break(
                objects.UNKNOWN_OBJECT,
                operation=f"call method {self.name} of",
                object=self.owner.describe(),
            )
        done = abstract.tail_call_method(trace, self.owner, self.name, args, kwargs)
        if self.name in _CONCATENATING and done.is_constant():
            if done.constant() is NotImplemented:  # the operator asks the other side, a call raises
                kind = type_name(self.owner.python_type())
                other = args[0].python_type().__name__
                text = f'can only concatenate {kind} (not "{other}") to {kind}'
                if "mul" in self.name:
                    text = f"'{other}' object cannot be interpreted as an integer"
                return abstract.raise_(trace, TypeError, text)
        return done

    def getattr(self, trace: Trace, name: str) -> Any:
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return Constant(self.name)
        return super().getattr(trace, name)

    def hash_key(self, trace: Trace) -> Any:
        return (BuiltinMethod, self.name, self.owner.identity())

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.{self.name}"


class Container(Mutable):
    """What builtin containers share: `m_<name>` methods are the methods of the real type."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Any:
        kind = self.python_type()
        if name == "__class__":
            return abstract.wrap(trace, kind, None)
        if hasattr(kind, name) and (name != "__dict__" or kind.__dictoffset__):
            found = getattr(kind, name, None)
            if found is not None and not callable(found):
                return abstract.wrap(trace, found, None)
            return BuiltinMethod(self, name)
        return abstract.raise_(
            trace, AttributeError, f"'{type_name(kind)}' object has no attribute '{name}'"
        )


@method(Container, "__class__")
def container_class(self: Container, trace: Trace) -> Value | None:
    return abstract.wrap(trace, self.python_type(), None)


class Sequence(Container):
    """Common to list and tuple: `items` holds variables, or Lazy where nobody looked yet."""

    __slots__ = ("changes", "items", "settled")
    kind: type = tuple

    def __init__(self, items: Iterable[Any], source: Source | None = None) -> None:
        super().__init__(source)
        self.items: list[Any] = list(items)
        self.settled = False  # nothing in `items` is Lazy any more
        self.changes = 0  # how often a list was about to change

    def python_type(self) -> type:
        return self.kind

    def unpacked(self, trace: Trace) -> list[Any]:
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
        return items

    def is_constant(self) -> bool:
        return False

    def truth(self, trace: Trace) -> Any:
        return bool(self.items)

    def as_proxy(self) -> Any:
        return self.kind(_proxy(i) for i in self.items)

    def at(self, trace: Trace, i: int) -> Any:
        item = self.items[i]
        if type(item) is Lazy:
            item = self.items[i] = abstract.realize(trace, item)
        return item

    def made_like(self, items: list[Any]) -> Any:
        return type(self)(items)

    def known(self, values: list[Any]) -> Any:
        """The real container of these values."""
        return self.kind(values)

    # ---- methods of the real type


@method(Sequence, "__len__")
def sequence_len(self: Sequence, trace: Trace) -> Value:
    return Constant(len(self.items))


@method(Sequence, "__getitem__")
def sequence_getitem(self: Sequence, trace: Trace, key: Value) -> Value | None:
    where = abstract.index_of(trace, key, len(self.items), self.kind.__name__)
    if isinstance(where, slice):
        return self.made_like(self.items[where])
    return self.at(trace, where)


@method(Sequence, "__iter__")
def sequence_iter(self: Sequence, trace: Trace) -> Value:
    return abstract.sequence_iterator(trace, self)


@method(Sequence, "__contains__")
def sequence_contains(self: Sequence, trace: Trace, item: Value) -> Value:
    for at in self.unpacked(trace):
        if abstract.same_or_equal(trace, at, item):
            return Constant(True)
    return Constant(False)


@method(Sequence, "index")
def sequence_index(
    self: Sequence, trace: Trace, item: Any, start: object = None, stop: object = None
) -> Value | None:
    low = 0 if start is None else abstract.integer(trace, start)
    high = len(self.items) if stop is None else abstract.integer(trace, stop)
    for i in range(*slice(low, high).indices(len(self.items))):
        if abstract.same_or_equal(trace, self.at(trace, i), item):
            return Constant(i)
    return abstract.raise_(trace, ValueError, f"{item.describe()} is not in {self.kind.__name__}")


@method(Sequence, "__eq__")
def sequence_eq(self: Sequence, trace: Trace, other: Value) -> Value:
    return abstract.sequence_compare(trace, "==", self, other)


@method(Sequence, "__ne__")
def sequence_ne(self: Sequence, trace: Trace, other: Value) -> Value:
    return abstract.sequence_compare(trace, "!=", self, other)


@method(Sequence, "__lt__")
def sequence_lt(self: Sequence, trace: Trace, other: Value) -> Value:
    return abstract.sequence_compare(trace, "<", self, other)


@method(Sequence, "__le__")
def sequence_le(self: Sequence, trace: Trace, other: Value) -> Value:
    return abstract.sequence_compare(trace, "<=", self, other)


@method(Sequence, "__gt__")
def sequence_gt(self: Sequence, trace: Trace, other: Value) -> Value:
    return abstract.sequence_compare(trace, ">", self, other)


@method(Sequence, "__ge__")
def sequence_ge(self: Sequence, trace: Trace, other: Value) -> Value:
    return abstract.sequence_compare(trace, ">=", self, other)


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
    return self.made_like(self.items + other.unpacked(trace))


@method(Sequence, "__mul__", "__rmul__")
def sequence_mul(self: Sequence, trace: Trace, times: Value) -> Value:
    if not abstract.has_index(trace, times):
        return Constant(NotImplemented)
    return self.made_like(_repeated(self.unpacked(trace), abstract.integer(trace, times)))


@method(Sequence, "__reversed__")
def sequence_reversed(self: Sequence, trace: Trace) -> Value:
    return abstract.sequence_iterator(trace, self, reverse=True)


def _repeated(items: list[Any], times: int) -> list[Any]:
    if len(items) * times > _MOST_ITEMS:
        raise MemoryError
    return items * times


_MOST_ITEMS = 1_000_000
MOST_GUARDED = 5_000  # a guard for each item of a longer sequence costs more than it gives


def _proxy(item: Any) -> Any:
    if type(item) is Lazy:
        raise Break(objects.UNKNOWN_OBJECT, operation="pass to the graph", object="an item")
    return item.as_proxy()


class Tuple(Sequence):
    """A tuple, or torch.Size when `kind` says so."""

    __slots__ = ()
    kind = tuple

    def touch(self, trace: Trace) -> None:  # tuples do not change; never called
        super().touch(trace)

    def is_constant(self) -> bool:
        return all(type(i) is not Lazy and i.is_constant() for i in self.items)

    def constant(self) -> Any:
        return tuple(i.constant() for i in self.items)

    def hash_key(self, trace: Trace) -> Any:
        return tuple(i.hash_key(trace) for i in self.unpacked(trace))

    def identity(self) -> Any:
        empty = not self.items and self.source is None and type(self) is Tuple
        return Constant(()).identity() if empty else super().identity()

    def _is_made(self) -> bool:
        """Whether it is a plain tuple of the region: all of it, or once it, is itself."""
        return type(self) is Tuple and self.source is None

    def made_like(self, items: list[Any]) -> Any:
        return Tuple(items)

    def rebuild(self, emit: Emitter) -> str:
        if not self.items:
            return "()"
        inner = ", ".join(emit.value(i) for i in self.items)
        return f"({inner},)"


@method(Tuple, "__getitem__")
def tuple_getitem(self: Tuple, trace: Trace, key: Value) -> Value | None:
    found = sequence_getitem(self, trace, key)
    whole = self._is_made() and isinstance(found, Tuple) and found.items == self.items
    return self if whole and isinstance(abstract.builtin_part(trace, key), Slice) else found


@method(Tuple, "__mul__", "__rmul__")
def tuple_mul(self: Tuple, trace: Trace, times: Value) -> Value:
    made = sequence_mul(self, trace, times)
    once = self._is_made() and isinstance(made, Tuple) and abstract.integer(trace, times) == 1
    return self if once else made


@method(Tuple, "__hash__")
def tuple_hash(self: Tuple, trace: Trace) -> Value:
    return Constant(hash(tuple(abstract.constant_value(trace, i) for i in self.unpacked(trace))))


class Size(Tuple):
    """torch.Size: the shape of a tensor."""

    __slots__ = ()

    @property
    def kind(self) -> type:  # type: ignore[override]
        import torch

        return torch.Size

    def constant(self) -> Any:
        return self.kind(super().constant())

    def made_like(self, items: list[Any]) -> Any:
        return Size(items)

    def as_proxy(self) -> Any:
        return tuple(_proxy(i) for i in self.items)

    def _joined(self, trace: Trace, other: Value, join: Any) -> Value:
        other = abstract.builtin_part(trace, other)
        if not isinstance(other, Tuple):
            return Constant(NotImplemented)
        items = other.unpacked(trace)
        if any(item.python_type() is not int for item in items):
            raise Break(objects.UNKNOWN_OPERATOR, operator="+", operands="a torch.Size")
        return Size(join(items))

    def rebuild(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(i) for i in self.items)
        return f"{emit.constant(self.kind, 'Size')}([{inner}])"


@method(Size, "__add__")
def size_add(self: Size, trace: Trace, other: Value) -> Value:
    return self._joined(trace, other, lambda items: self.items + items)


@method(Size, "__radd__")
def size_radd(self: Size, trace: Trace, other: Value) -> Value:
    return self._joined(trace, other, lambda items: items + self.items)


@method(Size, "__getitem__")
def size_getitem(self: Size, trace: Trace, key: Value) -> Value | None:
    where = abstract.index_of(trace, key, len(self.items), "tuple")
    return Size(self.items[where]) if isinstance(where, slice) else self.at(trace, where)


@method(Size, "numel")
def size_numel(self: Size, trace: Trace) -> Value:
    total: Any = Constant(1)
    for item in self.unpacked(trace):
        total = abstract.binary(trace, "mul", total, item)
    return total


class List(Sequence):
    """A list."""

    __slots__ = ()
    kind = list

    def hash_key(self, trace: Trace) -> Any:
        return abstract.raise_(trace, TypeError, f"unhashable type: '{type_name(self.kind)}'")

    def rebuild(self, emit: Any) -> str:
        name = emit.begin(self, "[]")
        if self.items:
            inner = ", ".join(emit.value(i) for i in self.items)
            emit.line(f"list.__setitem__({name}, slice(None), [{inner}])")
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"list.__setitem__({name}, slice(None), [{inner}])")

    def change(self, trace: Trace) -> list[Any]:
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
        new = list(abstract.unpack(trace, more))
        self.change(trace).extend(new)
        return Constant(None)
    for item in abstract.each(trace, more):  # what gives the items may look at the list meanwhile
        run_method(trace, self, "append", item)
    return Constant(None)


@method(List, "insert")
def list_insert(self: List, trace: Trace, where: Value, item: Value) -> Value:
    at = abstract.integer(trace, where)
    self.change(trace).insert(at, item)
    return Constant(None)


@method(List, "pop")
def list_pop(self: List, trace: Trace, where: object = None) -> Value | None:
    at = -1 if where is None else abstract.integer(trace, where)
    if not self.items:
        return abstract.raise_(trace, IndexError, "pop from empty list")
    if not -len(self.items) <= at < len(self.items):
        return abstract.raise_(trace, IndexError, "pop index out of range")
    return self.change(trace).pop(at)


@method(List, "remove")
def list_remove(self: List, trace: Trace, item: Value) -> Value | None:
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
def list_sort(self: List, trace: Trace, *, key: Any = None, reverse: Any = None) -> Value | None:
    items = list(self.change(trace))
    self.items.clear()  # as Python does: what compares finds an empty list
    before = self.changes
    try:
        abstract.sort(trace, items, key, reverse)
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
    items[:] = _repeated(items, n)
    return self


class Slice(Value):
    """A slice whose ends need not be constants."""

    __slots__ = ("parts",)

    def __init__(self, start: Any, stop: Any, step: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.parts = (start, stop, step)

    def python_type(self) -> type:
        return slice

    def is_constant(self) -> bool:
        return all(p.is_constant() for p in self.parts)

    def constant(self) -> Any:
        return slice(*(p.constant() for p in self.parts))

    def as_proxy(self) -> Any:
        return slice(*(p.as_proxy() for p in self.parts))

    def getattr(self, trace: Trace, name: str) -> Any:
        if name in ("start", "stop", "step"):
            return self.parts[("start", "stop", "step").index(name)]
        return abstract.container_attribute(trace, self, name)

    def hash_key(self, trace: Trace) -> Any:
        if not _SLICES_HASH:
            return abstract.raise_(trace, TypeError, "unhashable type: 'slice'")
        return (slice, *(p.hash_key(trace) for p in self.parts))

    def rebuild(self, emit: Emitter) -> str:
        return "slice({}, {}, {})".format(*(emit.value(p) for p in self.parts))


@method(Slice, "indices")
def slice_indices(self: Slice, trace: Trace, length: Value) -> Value | None:
    real, size = abstract.constant_value(trace, self), abstract.integer(trace, length)
    return abstract.folded(trace, lambda: real.indices(size))
