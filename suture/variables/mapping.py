"""Dictionaries, their views, and sets."""

from __future__ import annotations

import collections
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.variables.base import Lazy
from suture.variables.constant import Constant
from suture.variables.keys import DICT_KEY, hashed
from suture.variables.sequence import Container, Tuple
from suture.variables.sets import key_of
from suture.variables.views import DictView

MISSING = object()


class Dict(Container):
    """A dict. `entries` maps hash keys to (key, value) pairs of variables.

    A dict that came from outside is read key by key (`backing` is the real one) until somebody
    needs all of it; only what was read is guarded.
    """

    __slots__ = ("absent", "backing", "entries", "factory", "inserted", "kind", "original")

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
        if name == "__dict__" and self.kind is collections.OrderedDict:
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
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
        key = key_of(tx, self, key)
        at = hashed(tx, key, DICT_KEY)
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
        found = key_of(tx, self, key)
        at = hashed(tx, found, DICT_KEY)
        key = key if type(key) is Tuple else found  # the very tuple goes in
        entries = self.change(tx)
        old = entries.get(at)
        self.inserted += old is None
        entries[at] = (key if old is None else old[0], value)

    def as_proxy(self) -> Any:
        if self.backing is not None:
            return super().as_proxy()
        return {k.as_proxy(): v.as_proxy() for k, v in self.entries.values()}

    def hash_key(self, tx: Any) -> Any:
        return tx.raise_(TypeError, f"unhashable type: '{type_name(self.kind)}'")

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
        del self.change(tx)[key_of(tx, self, key).hash_key(tx)]
        return Constant(None)

    def m_pop(self, tx: Any, key: Any, default: Any = None) -> Any:
        found = self.get(tx, key)
        if found is None:
            return default if default is not None else tx.raise_with(KeyError, [key])
        del self.change(tx)[key_of(tx, self, key).hash_key(tx)]
        return found

    def m_popitem(self, tx: Any, last: Any = None) -> Any:
        if last is not None and self.kind is not collections.OrderedDict:
            return tx.refused_method(self.kind, "popitem", [last], {})
        if not self.load(tx):
            return tx.raise_(KeyError, "popitem(): dictionary is empty")
        self.values(tx)
        entries = self.change(tx)
        at = (
            next(iter(entries))
            if last is not None and not last.truth(tx)
            else next(reversed(entries))
        )
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
        if len(args) > 1:
            return tx.refused_method(self.kind, "update", list(args), kwargs)
        pairs = tx.dict_pairs(args[0]) if args else []
        pairs = pairs + [(Constant(k), v) for k, v in kwargs.items()]
        for key, _ in pairs:
            hashed(tx, key, DICT_KEY)
        for key, value in pairs:
            self.put(tx, key, value)
        return Constant(None)

    def m___or__(self, tx: Any, other: Any) -> Any:
        if not issubclass(other.python_type(), dict):
            return Constant(NotImplemented)
        merged = self.m_copy(tx)
        merged.m_update(tx, other)
        return merged

    def m___ror__(self, tx: Any, other: Any) -> Any:
        """Where the other side is a plain dict, and this one is not."""
        if not issubclass(other.python_type(), dict):
            return Constant(NotImplemented)
        merged = Dict(None, None, self.kind, None, self.factory)
        merged.m_update(tx, other)
        merged.m_update(tx, self)
        return merged

    def m___ior__(self, tx: Any, other: Any) -> Any:
        self.m_update(tx, other)
        return self

    def m_move_to_end(self, tx: Any, key: Any, last: Any = None) -> Any:
        if self.get(tx, key) is None:
            return tx.raise_with(KeyError, [key])
        at = key_of(tx, self, key).hash_key(tx)
        to_end = last is None or last.truth(tx)
        if at == next(reversed(self.load(tx)) if to_end else iter(self.load(tx))):
            return Constant(None)
        entries = self.change(tx)
        pair = entries.pop(at)
        self.inserted += 1
        if to_end:
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
