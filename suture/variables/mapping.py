"""Dictionaries, their views, and sets."""

from __future__ import annotations

import collections
from typing import Any

from suture.breaks import Break, objects
from suture.variables.address import Address
from suture.variables.base import Lazy, Variable
from suture.variables.constant import Constant
from suture.variables.sequence import Container, Tuple

MISSING = object()


def _key_of(tx: Any, container: Any, key: Any) -> Any:
    """The key to look for: an id as a number where the container may hold numbers already."""
    if type(key) is Address and container.source is not None:
        return Constant(key.number(tx))
    return key


class Dict(Container):
    """A dict. `entries` maps hash keys to (key, value) pairs of variables.

    A dict that came from outside is read key by key (`backing` is the real one) until somebody
    needs all of it; only what was read is guarded.
    """

    __slots__ = ("inserted", "absent", "backing", "entries", "factory", "kind", "original")

    def __init__(
        self,
        entries: dict[Any, tuple[Any, Any]] | None = None,
        source: Any = None,
        kind: type = dict,
        backing: Any = None,
        factory: Any = None,
    ) -> None:
        super().__init__(source)
        self.entries: dict[Any, tuple[Any, Any]] = {} if entries is None else entries
        self.kind = kind
        self.backing = backing
        self.factory = factory  # of a defaultdict
        self.absent: set[Any] = set()
        self.inserted = 0  # how many keys have come in while tracing
        self.original: dict[Any, tuple[Any, Any]] | None = None  # what a real dict held at first

    def python_type(self) -> type:
        return self.kind

    def getattr(self, tx: Any, name: str) -> Any:
        if name == "default_factory" and self.kind is collections.defaultdict:
            return self.factory if self.factory is not None else Constant(None)
        return super().getattr(tx, name)

    # ---- reading

    def load(self, tx: Any) -> dict[Any, tuple[Any, Any]]:
        """All entries; guards the whole set of keys if the dict came from outside."""
        if self.backing is not None:
            self.entries = tx.dict_entries(self)
            self.original = dict(self.entries)
            self.backing = None
        return self.entries

    def get(self, tx: Any, key: Any) -> Any:
        """The value under a key, or None; reads only this key."""
        key = _key_of(tx, self, key)
        at = key.hash_key(tx)
        found = self.entries.get(at)
        if found is None:
            if self.backing is None:
                return None
            found = tx.dict_entry(self, key, at)
            if found is None:
                return None
            self.entries[at] = found
        value = found[1]
        if type(value) is Lazy:
            value = tx.realize(value)
            self.entries[at] = (found[0], value)
        return value

    def change(self, tx: Any) -> dict[Any, tuple[Any, Any]]:
        entries = self.load(tx)
        self.touch(tx)
        return entries

    def truth(self, tx: Any) -> Any:
        return bool(self.load(tx))

    def values(self, tx: Any) -> list[Any]:
        entries = self.load(tx)
        for at, (key, value) in list(entries.items()):
            if type(value) is Lazy:
                entries[at] = (key, tx.realize(value))
        return [v for _, v in entries.values()]

    def keys(self, tx: Any) -> list[Any]:
        return [k for k, _ in self.load(tx).values()]

    def put(self, tx: Any, key: Any, value: Any) -> None:
        key = _key_of(tx, self, key)
        at = key.hash_key(tx)
        entries = self.change(tx)
        old = entries.get(at)
        self.inserted += old is None
        entries[at] = (key if old is None else old[0], value)

    def as_proxy(self) -> Any:
        if self.backing is not None:
            return super().as_proxy()
        return {k.as_proxy(): v.as_proxy() for k, v in self.entries.values()}

    def hash_key(self, tx: Any) -> Any:
        return tx.raise_(TypeError, f"unhashable type: '{self.kind.__name__}'")

    # ---- methods of the real type

    def m___len__(self, tx: Any) -> Any:
        return Constant(len(self.load(tx)))

    def m___contains__(self, tx: Any, key: Any) -> Any:
        return Constant(self.get(tx, key) is not None)

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        found = self.get(tx, key)
        if found is not None:
            return found
        if self.factory is not None and not (self.factory.is_constant()):
            value = tx.call(self.factory, [], {})
            self.put(tx, key, value)
            return value
        return tx.raise_with(KeyError, [key])

    def m_get(self, tx: Any, key: Any, default: Any = None) -> Any:
        found = self.get(tx, key)
        return found if found is not None else (default or Constant(None))

    def m___setitem__(self, tx: Any, key: Any, value: Any) -> Any:
        self.put(tx, key, value)
        return Constant(None)

    def m___delitem__(self, tx: Any, key: Any) -> Any:
        if self.get(tx, key) is None:
            return tx.raise_with(KeyError, [key])
        del self.change(tx)[key.hash_key(tx)]
        return Constant(None)

    def m_pop(self, tx: Any, key: Any, default: Any = None) -> Any:
        found = self.get(tx, key)
        if found is None:
            return default if default is not None else tx.raise_with(KeyError, [key])
        del self.change(tx)[key.hash_key(tx)]
        return found

    def m_popitem(self, tx: Any, last: Any = None) -> Any:
        if not self.load(tx):
            return tx.raise_(KeyError, "popitem(): dictionary is empty")
        self.values(tx)
        entries = self.change(tx)
        at = next(iter(entries)) if last is not None and not last.truth(tx) else next(reversed(entries))
        return Tuple(entries.pop(at))

    def m_setdefault(self, tx: Any, key: Any, default: Any = None) -> Any:
        found = self.get(tx, key)
        if found is None:
            found = default or Constant(None)
            self.put(tx, key, found)
        return found

    def m_clear(self, tx: Any) -> Any:
        self.change(tx).clear()
        return Constant(None)

    def m_copy(self, tx: Any) -> Any:
        return Dict(dict(self.load(tx)), None, self.kind, None, self.factory)

    m___copy__ = m_copy

    def m_keys(self, tx: Any) -> Any:
        return DictView(self, "keys")

    def m_values(self, tx: Any) -> Any:
        return DictView(self, "values")

    def m_items(self, tx: Any) -> Any:
        return DictView(self, "items")

    def m___iter__(self, tx: Any) -> Any:
        return tx.mapping_iterator(self, "keys")

    def m___reversed__(self, tx: Any) -> Any:
        return tx.list_iterator(list(reversed(self.keys(tx))))

    def m_update(self, tx: Any, /, *args: Any, **kwargs: Any) -> Any:
        pairs = tx.dict_pairs(args[0]) if args else []
        pairs = pairs + [(Constant(k), v) for k, v in kwargs.items()]
        for key, _ in pairs:
            key.hash_key(tx)
        for key, value in pairs:
            self.put(tx, key, value)
        return Constant(None)

    def m___or__(self, tx: Any, other: Any) -> Any:
        if not issubclass(other.python_type(), dict):
            return Constant(NotImplemented)
        merged = self.m_copy(tx)
        merged.m_update(tx, other)
        return merged

    def m___ior__(self, tx: Any, other: Any) -> Any:
        self.m_update(tx, other)
        return self

    def m_move_to_end(self, tx: Any, key: Any, last: Any = None) -> Any:
        if self.get(tx, key) is None:
            return tx.raise_with(KeyError, [key])
        entries = self.change(tx)
        at = key.hash_key(tx)
        pair = entries.pop(at)
        if last is None or last.truth(tx):
            entries[at] = pair
        else:
            rest = dict(entries)
            entries.clear()
            entries[at] = pair
            entries.update(rest)
        return Constant(None)

    def m___eq__(self, tx: Any, other: Any) -> Any:
        return tx.dicts_equal(self, other)

    def m___ne__(self, tx: Any, other: Any) -> Any:
        equal = tx.dicts_equal(self, other)
        return equal if equal.constant() is NotImplemented else tx.negate(equal)

    def m_fromkeys(self, tx: Any, keys: Any, value: Any = None) -> Any:
        made = Dict(None, None, self.kind)
        for key in tx.unpack(keys):
            made.put(tx, key, value or Constant(None))
        return made

    # ---- making it real

    def rebuild(self, emit: Any) -> str:
        made = "{}"
        if self.kind is collections.defaultdict:
            factory = emit.value(self.factory) if self.factory is not None else "None"
            made = f"{emit.constant(self.kind, 'defaultdict')}({factory})"
        elif self.kind is not dict:
            made = f"{emit.constant(self.kind, self.kind.__name__)}()"
        name = str(emit.begin(self, made))
        self._fill(emit, name)
        return name

    def write_back(self, emit: Any, name: str) -> None:
        emit.replace_dict(self, name)

    def difference(self) -> tuple[list[Any], list[tuple[Any, Any]]] | None:
        """Keys to delete and pairs to set so that the real dict, as it was, becomes this one in
        the same order; None if only filling it anew does that."""
        if self.original is None:
            return None
        kept = [at for at in self.original if at in self.entries]
        if list(self.entries)[: len(kept)] != kept:
            return None
        gone = [key for at, (key, _) in self.original.items() if at not in self.entries]
        new = []
        for at, (key, value) in self.entries.items():
            old = self.original.get(at)
            if old is None or not _unchanged(old[1], value):
                new.append((key, value))
        return gone, new

    def _fill(self, emit: Any, name: str) -> None:
        for key, value in self.entries.values():
            emit.line(f"{name}[{emit.value(key)}] = {emit.value(value)}")


def _unchanged(old: Any, new: Any) -> bool:
    return old is new or (type(old) is Lazy and old.source is not None and new.source is old.source)


class DictView(Variable):
    """`d.keys()`, `d.values()` or `d.items()`: follows the dict."""

    __slots__ = ("of", "what")

    def __init__(self, of: Dict, what: str) -> None:
        super().__init__(None)
        self.of = of
        self.what = what

    def python_type(self) -> type:
        return type(getattr({}, self.what)())

    def elements(self, tx: Any) -> list[Any]:
        if self.what == "keys":
            return self.of.keys(tx)
        values = self.of.values(tx)
        if self.what == "values":
            return values
        return [Tuple([k, v]) for k, v in zip(self.of.keys(tx), values)]

    def truth(self, tx: Any) -> Any:
        return self.of.truth(tx)

    def getattr(self, tx: Any, name: str) -> Any:
        if name == "mapping":
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return tx.container_attribute(self, name)

    def m___len__(self, tx: Any) -> Any:
        return self.of.m___len__(tx)

    def m___iter__(self, tx: Any) -> Any:
        return tx.mapping_iterator(self.of, self.what)

    def m___reversed__(self, tx: Any) -> Any:
        return tx.list_iterator(list(reversed(self.elements(tx))))

    def m___contains__(self, tx: Any, item: Any) -> Any:
        if self.what == "keys":
            return self.of.m___contains__(tx, item)
        if self.what == "items":
            return self._has_item(tx, item)
        return Constant(any(tx.same_or_equal(e, item) for e in self.elements(tx)))

    def _has_item(self, tx: Any, item: Any) -> Any:
        pair = tx.builtin_part(item)
        if not isinstance(pair, Tuple) or len(pair.items) != 2:
            return Constant(False)
        key, value = pair.unpacked(tx)
        found = self.of.get(tx, key)
        return Constant(found is not None and tx.same_or_equal(found, value))

    def _set(self, tx: Any) -> Any:
        made = Set()
        for element in self.elements(tx):
            made.add(tx, element)
        return made

    def m___and__(self, tx: Any, other: Any) -> Any:
        return self._set(tx).m_intersection(tx, other)

    def m___or__(self, tx: Any, other: Any) -> Any:
        return self._set(tx).m_union(tx, other)

    def m___sub__(self, tx: Any, other: Any) -> Any:
        return self._set(tx).m_difference(tx, other)

    def m___xor__(self, tx: Any, other: Any) -> Any:
        return self._set(tx).m_symmetric_difference(tx, other)

    def m_isdisjoint(self, tx: Any, other: Any) -> Any:
        return self._set(tx).m_isdisjoint(tx, other)

    def m___eq__(self, tx: Any, other: Any) -> Any:
        if isinstance(other, DictView):
            other = other._set(tx)
        return self._set(tx).m___eq__(tx, other)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.of)}.{self.what}()"


def _member_key(tx: Any, item: Any) -> Any:
    """What stands for an object that is looked for in a set: a set counts as a frozenset."""
    if isinstance(item, Set) and item.kind is set:
        return frozenset(item.entries)
    return item.hash_key(tx)


class Set(Container):
    """set or frozenset; `entries` maps hash keys to variables, in order of insertion."""

    __slots__ = ("entries", "kind")

    def __init__(
        self, entries: dict[Any, Any] | None = None, source: Any = None, kind: type = set
    ) -> None:
        super().__init__(source)
        self.entries: dict[Any, Any] = {} if entries is None else entries
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def is_constant(self) -> bool:
        return self.kind is frozenset and all(v.is_constant() for v in self.entries.values())

    def constant(self) -> Any:
        return frozenset(v.constant() for v in self.entries.values())

    def hash_key(self, tx: Any) -> Any:
        if self.kind is set:
            return tx.raise_(TypeError, "unhashable type: 'set'")
        return frozenset(self.entries)

    def truth(self, tx: Any) -> Any:
        return bool(self.entries)

    def add(self, tx: Any, item: Any) -> None:
        item = _key_of(tx, self, item)
        self.entries.setdefault(item.hash_key(tx), item)

    def _collect(self, tx: Any, others: tuple[Any, ...]) -> list[dict[Any, Any]]:
        return [{i.hash_key(tx): i for i in tx.unpack(o)} for o in others]

    def _like(self, entries: dict[Any, Any]) -> Any:
        return Set(entries, None, self.kind)

    def change(self, tx: Any) -> dict[Any, Any]:
        self.touch(tx)
        return self.entries

    def m___len__(self, tx: Any) -> Any:
        return Constant(len(self.entries))

    def m___iter__(self, tx: Any) -> Any:
        return tx.set_iterator(self)

    def m___contains__(self, tx: Any, item: Any) -> Any:
        return Constant(_key_of(tx, self, item).hash_key(tx) in self.entries)

    def m_add(self, tx: Any, item: Any) -> Any:
        key = item.hash_key(tx)
        self.change(tx).setdefault(key, item)
        return Constant(None)

    def m_discard(self, tx: Any, item: Any) -> Any:
        self.change(tx).pop(_member_key(tx, item), None)
        return Constant(None)

    def m_remove(self, tx: Any, item: Any) -> Any:
        if _member_key(tx, item) not in self.entries:
            return tx.raise_with(KeyError, [item])
        return self.m_discard(tx, item)

    def m_pop(self, tx: Any) -> Any:
        if not self.entries:
            return tx.raise_(KeyError, "pop from an empty set")
        order = tx.set_order(self)
        return self.change(tx).pop(order[0].hash_key(tx))

    def m_clear(self, tx: Any) -> Any:
        self.change(tx).clear()
        return Constant(None)

    def m_copy(self, tx: Any) -> Any:
        return self._like(dict(self.entries))

    def m_union(self, tx: Any, *others: Any) -> Any:
        merged = dict(self.entries)
        for other in self._collect(tx, others):
            for key, item in other.items():
                merged.setdefault(key, item)
        return self._like(merged)

    def m_intersection(self, tx: Any, *others: Any) -> Any:
        sets = self._collect(tx, others)
        return self._like({k: v for k, v in self.entries.items() if all(k in s for s in sets)})

    def m_difference(self, tx: Any, *others: Any) -> Any:
        sets = self._collect(tx, others)
        return self._like({k: v for k, v in self.entries.items() if not any(k in s for s in sets)})

    def m_symmetric_difference(self, tx: Any, other: Any) -> Any:
        (right,) = self._collect(tx, (other,))
        kept = {k: v for k, v in self.entries.items() if k not in right}
        kept.update({k: v for k, v in right.items() if k not in self.entries})
        return self._like(kept)

    def _in_place(self, tx: Any, result: Any) -> Any:
        new = dict(result.entries)
        entries = self.change(tx)
        entries.clear()
        entries.update(new)
        return Constant(None)

    def m_update(self, tx: Any, *others: Any) -> Any:
        return self._in_place(tx, self.m_union(tx, *others))

    def m_intersection_update(self, tx: Any, *others: Any) -> Any:
        return self._in_place(tx, self.m_intersection(tx, *others))

    def m_difference_update(self, tx: Any, *others: Any) -> Any:
        return self._in_place(tx, self.m_difference(tx, *others))

    def m_symmetric_difference_update(self, tx: Any, other: Any) -> Any:
        return self._in_place(tx, self.m_symmetric_difference(tx, other))

    def m_issubset(self, tx: Any, other: Any) -> Any:
        (right,) = self._collect(tx, (other,))
        return Constant(all(k in right for k in self.entries))

    def m_issuperset(self, tx: Any, other: Any) -> Any:
        (right,) = self._collect(tx, (other,))
        return Constant(all(k in self.entries for k in right))

    def m_isdisjoint(self, tx: Any, other: Any) -> Any:
        (right,) = self._collect(tx, (other,))
        return Constant(not any(k in right for k in self.entries))

    def rebuild(self, emit: Any) -> str:
        if self.kind is frozenset:
            inner = ", ".join(emit.value(v) for v in self.entries.values())
            return f"frozenset([{inner}])"
        name = str(emit.begin(self, "set()"))
        self.write_back(emit, name)
        return name

    def write_back(self, emit: Any, name: str) -> None:
        inner = ", ".join(emit.value(v) for v in self.entries.values())
        emit.line(f"set.clear({name}); set.update({name}, [{inner}])")


def _set_operator(method: str) -> Any:
    def operate(self: Set, tx: Any, other: Any) -> Any:
        if not isinstance(other, (Set, DictView)):
            return Constant(NotImplemented)
        return getattr(self, method)(tx, other)

    return operate


def _set_update(method: str) -> Any:
    def operate(self: Set, tx: Any, other: Any) -> Any:
        if not isinstance(other, (Set, DictView)):
            return Constant(NotImplemented)
        getattr(self, method)(tx, other)
        return self

    return operate


def _set_compare(strict: bool, flip: bool, equal: bool | None) -> Any:
    def operate(self: Set, tx: Any, other: Any) -> Any:
        if not isinstance(other, Set):
            return Constant(NotImplemented)
        a, b = set(self.entries), set(other.entries)
        if equal is not None:
            return Constant((a == b) is equal)
        if flip:
            a, b = b, a
        return Constant(a < b if strict else a <= b)

    return operate


for _name, _method in (("and", "m_intersection"), ("or", "m_union"), ("sub", "m_difference")):
    setattr(Set, f"m___{_name}__", _set_operator(_method))
    setattr(Set, f"m___i{_name}__", _set_update(_method + "_update" if _name != "or" else "m_update"))
Set.m___xor__ = _set_operator("m_symmetric_difference")
Set.m___ixor__ = _set_update("m_symmetric_difference_update")
Set.m___eq__ = _set_compare(False, False, True)
Set.m___ne__ = _set_compare(False, False, False)
Set.m___le__ = _set_compare(False, False, None)
Set.m___lt__ = _set_compare(True, False, None)
Set.m___ge__ = _set_compare(False, True, None)
Set.m___gt__ = _set_compare(True, True, None)
