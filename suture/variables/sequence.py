"""Lists, tuples and their kin: items are abstract values, the container is known exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.variables.base import Lazy, Mutable, Variable
from suture.variables.constant import Constant

_SLICES_HASH = vars(slice).get("__hash__") is not None  # from Python 3.12 on
_CONCATENATING = frozenset({"__add__", "__iadd__", "__mul__", "__imul__", "__rmul__"})


class BuiltinMethod(Variable):
    """A bound method of a builtin container, such as `items.append`."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Variable, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return type([].append)

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not hasattr(type(self.owner), "m_" + self.name):
            raise Break(
                objects.UNKNOWN_OBJECT,
                operation=f"call method {self.name} of",
                object=self.owner.describe(),
            )
        done = tx.tail_call_method(self.owner, self.name, args, kwargs)
        if self.name in _CONCATENATING and done.is_constant():
            if done.constant() is NotImplemented:  # the operator asks the other side, a call raises
                kind = type_name(self.owner.python_type())
                other = args[0].python_type().__name__
                text = f'can only concatenate {kind} (not "{other}") to {kind}'
                if "mul" in self.name:
                    text = f"'{other}' object cannot be interpreted as an integer"
                return tx.raise_(TypeError, text)
        return done

    def getattr(self, tx: Any, name: str) -> Any:
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return Constant(self.name)
        return super().getattr(tx, name)

    def hash_key(self, tx: Any) -> Any:
        return (BuiltinMethod, self.name, self.owner.identity())

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.owner)}.{self.name}"


class Container(Mutable):
    """What builtin containers share: `m_<name>` methods are the methods of the real type."""

    __slots__ = ()

    def getattr(self, tx: Any, name: str) -> Any:
        kind = self.python_type()
        if name == "__class__":
            return tx.wrap(kind, None)
        if hasattr(kind, name) and (name != "__dict__" or kind.__dictoffset__):
            found = getattr(kind, name, None)
            if found is not None and not callable(found):
                return tx.wrap(found, None)
            return BuiltinMethod(self, name)
        return tx.raise_(AttributeError, f"'{type_name(kind)}' object has no attribute '{name}'")

    def m___class__(self, tx: Any) -> Any:
        return tx.wrap(self.python_type(), None)


class Sequence(Container):
    """Common to list and tuple: `items` holds variables, or Lazy where nobody looked yet."""

    __slots__ = ("changes", "items", "settled")
    kind: type = tuple

    def __init__(self, items: Iterable[Any], source: Any = None) -> None:
        super().__init__(source)
        self.items: list[Any] = list(items)
        self.settled = False  # nothing in `items` is Lazy any more
        self.changes = 0  # how often a list was about to change

    def python_type(self) -> type:
        return self.kind

    def unpacked(self, tx: Any) -> list[Any]:
        """All items, looked at."""
        items = self.items
        if not self.settled:
            if self.source is not None and len(items) > MOST_GUARDED:
                what = f"{len(items)} items"
                raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=what)
            for i, item in enumerate(items):
                if type(item) is Lazy:
                    items[i] = tx.realize(item)
            self.settled = True
        return items

    def is_constant(self) -> bool:
        return False

    def truth(self, tx: Any) -> Any:
        return bool(self.items)

    def as_proxy(self) -> Any:
        return self.kind(_proxy(i) for i in self.items)

    def at(self, tx: Any, i: int) -> Any:
        item = self.items[i]
        if type(item) is Lazy:
            item = self.items[i] = tx.realize(item)
        return item

    def made_like(self, items: list[Any]) -> Any:
        return type(self)(items)

    def known(self, values: list[Any]) -> Any:
        """The real container of these values."""
        return self.kind(values)

    # ---- methods of the real type

    def m___len__(self, tx: Any) -> Any:
        return Constant(len(self.items))

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        where = tx.index_of(key, len(self.items), self.kind.__name__)
        if isinstance(where, slice):
            return self.made_like(self.items[where])
        return self.at(tx, where)

    def m___iter__(self, tx: Any) -> Any:
        return tx.sequence_iterator(self)

    def m___contains__(self, tx: Any, item: Any) -> Any:
        for at in self.unpacked(tx):
            if tx.same_or_equal(at, item):
                return Constant(True)
        return Constant(False)

    def m_index(self, tx: Any, item: Any, start: Any = None, stop: Any = None) -> Any:
        low = 0 if start is None else tx.integer(start)
        high = len(self.items) if stop is None else tx.integer(stop)
        for i in range(*slice(low, high).indices(len(self.items))):
            if tx.same_or_equal(self.at(tx, i), item):
                return Constant(i)
        return tx.raise_(ValueError, f"{item.describe()} is not in {self.kind.__name__}")

    def m___eq__(self, tx: Any, other: Any) -> Any:
        return tx.sequence_compare("==", self, other)

    def m___ne__(self, tx: Any, other: Any) -> Any:
        return tx.sequence_compare("!=", self, other)

    def m___lt__(self, tx: Any, other: Any) -> Any:
        return tx.sequence_compare("<", self, other)

    def m___le__(self, tx: Any, other: Any) -> Any:
        return tx.sequence_compare("<=", self, other)

    def m___gt__(self, tx: Any, other: Any) -> Any:
        return tx.sequence_compare(">", self, other)

    def m___ge__(self, tx: Any, other: Any) -> Any:
        return tx.sequence_compare(">=", self, other)

    def m_count(self, tx: Any, item: Any) -> Any:
        return Constant(sum(1 for at in self.unpacked(tx) if tx.same_or_equal(at, item)))

    def m___add__(self, tx: Any, other: Any) -> Any:
        other = tx.builtin_part(other)
        if not isinstance(other, Sequence) or not issubclass(other.kind, self.kind):
            return Constant(NotImplemented)
        return self.made_like(self.items + other.unpacked(tx))

    def m___mul__(self, tx: Any, times: Any) -> Any:
        if not tx.has_index(times):
            return Constant(NotImplemented)
        return self.made_like(_repeated(self.unpacked(tx), tx.integer(times)))

    m___rmul__ = m___mul__

    def m___reversed__(self, tx: Any) -> Any:
        return tx.sequence_iterator(self, reverse=True)


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

    def touch(self, tx: Any) -> None:  # tuples do not change; never called
        super().touch(tx)

    def is_constant(self) -> bool:
        return all(type(i) is not Lazy and i.is_constant() for i in self.items)

    def constant(self) -> Any:
        return tuple(i.constant() for i in self.items)

    def hash_key(self, tx: Any) -> Any:
        return tuple(i.hash_key(tx) for i in self.unpacked(tx))

    def identity(self) -> Any:
        empty = not self.items and self.source is None and type(self) is Tuple
        return Constant(()).identity() if empty else super().identity()

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        found = super().m___getitem__(tx, key)
        whole = self._is_made() and isinstance(found, Tuple) and found.items == self.items
        return self if whole and isinstance(tx.builtin_part(key), Slice) else found

    def m___mul__(self, tx: Any, times: Any) -> Any:
        made = super().m___mul__(tx, times)
        once = self._is_made() and isinstance(made, Tuple) and tx.integer(times) == 1
        return self if once else made

    m___rmul__ = m___mul__

    def _is_made(self) -> bool:
        """Whether it is a plain tuple of the region: all of it, or once it, is itself."""
        return type(self) is Tuple and self.source is None

    def m___hash__(self, tx: Any) -> Any:
        return Constant(hash(tuple(tx.constant_value(i) for i in self.unpacked(tx))))

    def made_like(self, items: list[Any]) -> Any:
        return Tuple(items)

    def rebuild(self, emit: Any) -> str:
        if not self.items:
            return "()"
        inner = ", ".join(emit.value(i) for i in self.items)
        return f"({inner},)"


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

    def m___add__(self, tx: Any, other: Any) -> Any:
        return self._joined(tx, other, lambda items: self.items + items)

    def m___radd__(self, tx: Any, other: Any) -> Any:
        return self._joined(tx, other, lambda items: items + self.items)

    def _joined(self, tx: Any, other: Any, join: Any) -> Any:
        other = tx.builtin_part(other)
        if not isinstance(other, Tuple):
            return Constant(NotImplemented)
        items = other.unpacked(tx)
        if any(item.python_type() is not int for item in items):
            raise Break(objects.UNKNOWN_OPERATOR, operator="+", operands="a torch.Size")
        return Size(join(items))

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        where = tx.index_of(key, len(self.items), "tuple")
        return Size(self.items[where]) if isinstance(where, slice) else self.at(tx, where)

    def m_numel(self, tx: Any) -> Any:
        total: Any = Constant(1)
        for item in self.unpacked(tx):
            total = tx.binary("mul", total, item)
        return total

    def rebuild(self, emit: Any) -> str:
        inner = ", ".join(emit.value(i) for i in self.items)
        return f"{emit.constant(self.kind, 'Size')}([{inner}])"


class List(Sequence):
    """A list."""

    __slots__ = ()
    kind = list

    def hash_key(self, tx: Any) -> Any:
        return tx.raise_(TypeError, f"unhashable type: '{type_name(self.kind)}'")

    def rebuild(self, emit: Any) -> str:
        name = emit.begin(self, "[]")
        if self.items:
            inner = ", ".join(emit.value(i) for i in self.items)
            emit.line(f"list.__setitem__({name}, slice(None), [{inner}])")
        return name

    def write_back(self, emit: Any, name: str) -> None:
        inner = ", ".join(emit.value(i) for i in self.items)
        emit.line(f"list.__setitem__({name}, slice(None), [{inner}])")

    def change(self, tx: Any) -> list[Any]:
        """The items, about to change: all of them are looked at and noted as touched."""
        items = self.unpacked(tx)
        self.touch(tx)
        self.changes += 1
        return items

    def m_append(self, tx: Any, item: Any) -> Any:
        self.change(tx).append(item)
        return Constant(None)

    def m_extend(self, tx: Any, more: Any) -> Any:
        if tx.is_settled(more):
            new = list(tx.unpack(more))
            self.change(tx).extend(new)
            return Constant(None)
        for item in tx.each(more):  # what gives the items may look at the list meanwhile
            self.m_append(tx, item)
        return Constant(None)

    def m_insert(self, tx: Any, where: Any, item: Any) -> Any:
        at = tx.integer(where)
        self.change(tx).insert(at, item)
        return Constant(None)

    def m_pop(self, tx: Any, where: Any = None) -> Any:
        at = -1 if where is None else tx.integer(where)
        if not self.items:
            return tx.raise_(IndexError, "pop from empty list")
        if not -len(self.items) <= at < len(self.items):
            return tx.raise_(IndexError, "pop index out of range")
        return self.change(tx).pop(at)

    def m_remove(self, tx: Any, item: Any) -> Any:
        for i, at in enumerate(self.unpacked(tx)):
            if tx.same_or_equal(at, item):
                del self.change(tx)[i]
                return Constant(None)
        return tx.raise_(ValueError, "list.remove(x): x not in list")

    def m_clear(self, tx: Any) -> Any:
        self.change(tx).clear()
        return Constant(None)

    def m_copy(self, tx: Any) -> Any:
        return List(self.items)

    def m_reverse(self, tx: Any) -> Any:
        self.change(tx).reverse()
        return Constant(None)

    def m_sort(self, tx: Any, *, key: Any = None, reverse: Any = None) -> Any:
        items = list(self.change(tx))
        self.items.clear()  # as Python does: what compares finds an empty list
        before = self.changes
        try:
            tx.sort(items, key, reverse)
        finally:
            self.items[:] = items
        if self.changes != before:
            return tx.raise_(ValueError, "list modified during sort")
        return Constant(None)

    def m___setitem__(self, tx: Any, key: Any, value: Any) -> Any:
        where = tx.index_of(key, len(self.items), "list assignment")
        if isinstance(where, slice):
            new = list(tx.unpack(value))
            try:
                trial = list(self.items)
                trial[where] = new
            except ValueError as error:
                return tx.raise_(ValueError, *error.args)
            self.change(tx)[where] = new
        else:
            self.change(tx)[where] = value
        return Constant(None)

    def m___delitem__(self, tx: Any, key: Any) -> Any:
        where = tx.index_of(key, len(self.items), "list assignment")
        del self.change(tx)[where]
        return Constant(None)

    def m___iadd__(self, tx: Any, more: Any) -> Any:
        self.m_extend(tx, more)
        return self

    def m___imul__(self, tx: Any, times: Any) -> Any:
        if not tx.has_index(times):
            return Constant(NotImplemented)
        n = tx.integer(times)
        items = self.change(tx)
        items[:] = _repeated(items, n)
        return self


class Slice(Variable):
    """A slice whose ends need not be constants."""

    __slots__ = ("parts",)

    def __init__(self, start: Any, stop: Any, step: Any, source: Any = None) -> None:
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

    def getattr(self, tx: Any, name: str) -> Any:
        if name in ("start", "stop", "step"):
            return self.parts[("start", "stop", "step").index(name)]
        return tx.container_attribute(self, name)

    def hash_key(self, tx: Any) -> Any:
        if not _SLICES_HASH:
            return tx.raise_(TypeError, "unhashable type: 'slice'")
        return (slice, *(p.hash_key(tx) for p in self.parts))

    def m_indices(self, tx: Any, length: Any) -> Any:
        real, size = tx.constant_value(self), tx.integer(length)
        return tx.folded(lambda: real.indices(size))

    def rebuild(self, emit: Any) -> str:
        return "slice({}, {}, {})".format(*(emit.value(p) for p in self.parts))
