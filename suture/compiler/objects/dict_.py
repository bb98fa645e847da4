"""Dictionaries, their views, and sets."""

from __future__ import annotations

import collections
from collections.abc import Hashable
from typing import Any

from suture._core import type_name
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Held, Lazy, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant, Unread
from suture.compiler.objects.dict_keys import DICT_KEY, hashed
from suture.compiler.objects.dict_view import DictView
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.sequence import Container
from suture.compiler.objects.set_keys import key_of
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source

MISSING = object()


class Dict(Container):
    """A dict. `entries` maps hash keys to (key, value) pairs of values.

    A dict that came from outside is read key by key (`backing` is the real one) until somebody
    needs all of it; only what was read is guarded.
    """

    __slots__ = ("absent", "backing", "entries", "factory", "inserted", "kind", "original")

    def __init__(
        self,
        entries: dict[Any, tuple[Any, Any]] | None = None,
        source: Source | None = None,
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

    def as_constant(self, trace: Trace) -> Any:
        if type(self) is not Dict:
            return super().as_constant(trace)
        made = self.kind()
        if self.kind is collections.defaultdict and self.factory is not None:
            made = self.kind(abstract.constant_value(trace, self.factory))
        made.update(self.constant_pairs(trace))
        return made

    def constant_pairs(self, trace: Trace) -> list[tuple[Any, Any]]:
        return [
            (abstract.constant_value(trace, key), abstract.constant_value(trace, value))
            for key, value in abstract.dict_pairs(trace, self)
        ]

    def python_type(self) -> type:
        return self.kind

    def made_like(self, entries: dict[Any, tuple[Any, Any]]) -> Dict:
        """A new dict of the same kind."""
        return Dict(entries, None, self.kind, None, self.factory)

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "default_factory" and self.kind is collections.defaultdict:
            return self.factory if self.factory is not None else Constant(None)
        return super().getattr(trace, name)

    # ---- reading

    def load(self, trace: Trace) -> dict[Any, tuple[Any, Any]]:
        """All entries; guards the whole set of keys if the dict came from outside."""
        if self.backing is not None:
            self.entries = dict_entries(trace, self)
            self.original = dict(self.entries)
            self.backing = None
        return self.entries

    def known_length(self) -> int | None:
        """How many entries there are; None: as many as in the real dict."""
        return len(self.entries) if self.backing is None else None

    def get(self, trace: Trace, key: Any) -> Value | None:
        """The value under a key, or None; reads only this key."""
        if type(key) is Constant and type(key.value) is str:
            at = key.value  # no id, and equal to nothing but texts
        else:
            if self.backing is not None:
                picked = picked_entry(trace, self, key)
                if picked is not None:
                    return picked
            key = key_of(trace, self, key)
            at = hashed(trace, key, DICT_KEY)
        found = self.entries.get(at)
        if found is None:
            if self.backing is None:
                return None
            found = dict_entry(trace, self, key, at)
            if found is None:
                return None
            self.entries[at] = found
        value: Held = found[1]
        if type(value) is Lazy:
            value = abstract.realize(trace, value)
            self.entries[at] = (found[0], value)
        return value

    def lacks(self, trace: Trace, name: str) -> bool:
        """Whether a dict from outside whose keys are plain has nothing under a text, asked as `get`
        does; False if `get` has to be asked."""
        if self.backing is None or name in self.entries or name in dict.keys(self.backing):
            return False
        if name not in self.absent:
            trace.guards.add(self.source, "no_key", name)
            self.absent.add(name)
        return True

    def change(self, trace: Trace) -> dict[Any, tuple[Any, Any]]:
        entries = self.load(trace)
        self.touch(trace)
        return entries

    def truth(self, trace: Trace) -> bool | None:
        return bool(self.load(trace))

    def values(self, trace: Trace) -> list[Any]:
        entries = self.load(trace)
        for at, (key, value) in list(entries.items()):
            if type(value) is Lazy:
                entries[at] = (key, abstract.realize(trace, value))
        return [v for _, v in entries.values()]

    def keys(self, trace: Trace) -> list[Any]:
        return [k for k, _ in self.load(trace).values()]

    def put(self, trace: Trace, key: object, value: object) -> None:
        found = key_of(trace, self, key)
        at = hashed(trace, found, DICT_KEY)
        key = key if type(key) is Tuple else found  # the very tuple goes in
        entries = self.change(trace)
        old = entries.get(at)
        self.inserted += old is None
        entries[at] = (key if old is None else old[0], value)

    def as_proxy(self) -> Any:
        if self.backing is not None:
            return super().as_proxy()
        return {k.as_proxy(): v.as_proxy() for k, v in self.entries.values()}

    def hash_key(self, trace: Trace) -> Hashable:
        return abstract.raise_(trace, TypeError, f"unhashable type: '{type_name(self.kind)}'")

    # ---- methods of the real type

    # ---- making it real

    def rebuild(self, emit: Emitter) -> str:
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

    def _fill(self, emit: Emitter, name: str) -> None:
        for key, value in self.entries.values():
            emit.line(f"{name}[{emit.value(key)}] = {emit.value(value)}")


@method(Dict, "__len__")
def dict_len(self: Dict, trace: Trace) -> Value:
    return Constant(len(self.load(trace)))


@method(Dict, "__contains__")
def dict_contains(self: Dict, trace: Trace, key: Value) -> Value:
    if type(key) is Unread and not self.entries and not self.backing:
        self.load(trace)  # nothing is in an empty dict, whatever the key is
        return Constant(False)
    return Constant(self.get(trace, key) is not None)


@method(Dict, "__getitem__")
def dict_getitem(self: Dict, trace: Trace, key: Value) -> Value:
    found = self.get(trace, key)
    if found is not None:
        return found
    if self.factory is not None and not (self.factory.is_constant()):
        value = abstract.call(trace, self.factory, [], {})
        self.put(trace, key, value)
        return value
    return abstract.raise_with(trace, KeyError, [key])


@method(Dict, "get")
def dict_get(self: Dict, trace: Trace, key: object, default: Value | None = None) -> Value:
    found = self.get(trace, key)
    return found if found is not None else (default or Constant(None))


@method(Dict, "__setitem__")
def dict_setitem(self: Dict, trace: Trace, key: Value, value: Value) -> Value:
    self.put(trace, key, value)
    return Constant(None)


@method(Dict, "__delitem__")
def dict_delitem(self: Dict, trace: Trace, key: Value) -> Value:
    if self.get(trace, key) is None:
        return abstract.raise_with(trace, KeyError, [key])
    del self.change(trace)[key_of(trace, self, key).hash_key(trace)]
    return Constant(None)


@method(Dict, "pop")
def dict_pop(self: Dict, trace: Trace, key: Value, default: Value | None = None) -> Value:
    found = self.get(trace, key)
    if found is None:
        return default if default is not None else abstract.raise_with(trace, KeyError, [key])
    del self.change(trace)[key_of(trace, self, key).hash_key(trace)]
    return found


@method(Dict, "popitem")
def dict_popitem(self: Dict, trace: Trace, last: Any = None) -> Value:
    if last is not None and self.kind is not collections.OrderedDict:
        return abstract.refused_method(trace, self.kind, "popitem", [last], {})
    if not self.load(trace):
        return abstract.raise_(trace, KeyError, "popitem(): dictionary is empty")
    self.values(trace)
    entries = self.change(trace)
    at = (
        next(iter(entries))
        if last is not None and not last.truth(trace)
        else next(reversed(entries))
    )
    return Tuple(entries.pop(at))


@method(Dict, "setdefault")
def dict_setdefault(self: Dict, trace: Trace, key: object, default: Any = None) -> Value:
    found = self.get(trace, key)
    if found is None:
        found = default or Constant(None)
        self.put(trace, key, found)
    return found


@method(Dict, "clear")
def dict_clear(self: Dict, trace: Trace) -> Value:
    self.change(trace).clear()
    return Constant(None)


@method(Dict, "copy", "__copy__")
def dict_copy(self: Dict, trace: Trace) -> Value:
    return self.made_like(dict(self.load(trace)))


@method(Dict, "keys")
def dict_keys(self: Dict, trace: Trace) -> Value:
    return DictView(self, "keys")


@method(Dict, "values")
def dict_values(self: Dict, trace: Trace) -> Value:
    return DictView(self, "values")


@method(Dict, "items")
def dict_items(self: Dict, trace: Trace) -> Value:
    return DictView(self, "items")


@method(Dict, "__iter__")
def dict_iter(self: Dict, trace: Trace) -> Value:
    return abstract.mapping_iterator(trace, self, "keys")


@method(Dict, "__reversed__")
def dict_reversed(self: Dict, trace: Trace) -> Value:
    return abstract.list_iterator(trace, list(reversed(self.keys(trace))))


@method(Dict, "update")
def dict_update(self: Dict, trace: Trace, /, *args: Value, **kwargs: Value) -> Value:
    if len(args) > 1:
        return abstract.refused_method(trace, self.kind, "update", list(args), kwargs)
    pairs = abstract.dict_pairs(trace, args[0]) if args else []
    pairs = pairs + [(Constant(k), v) for k, v in kwargs.items()]
    for key, _ in pairs:
        hashed(trace, key, DICT_KEY)
    for key, value in pairs:
        self.put(trace, key, value)
    return Constant(None)


@method(Dict, "__or__")
def dict_or(self: Dict, trace: Trace, other: Value) -> Value:
    if not issubclass(other.python_type(), dict):
        return Constant(NotImplemented)
    merged = run_method(trace, self, "copy")
    run_method(trace, merged, "update", other)
    return merged


@method(Dict, "__ror__")
def dict_ror(self: Dict, trace: Trace, other: Value) -> Value:
    """Where the other side is a plain dict, and this one is not."""
    if not issubclass(other.python_type(), dict):
        return Constant(NotImplemented)
    merged = self.made_like({})
    run_method(trace, merged, "update", other)
    run_method(trace, merged, "update", self)
    return merged


@method(Dict, "__ior__")
def dict_ior(self: Dict, trace: Trace, other: Value) -> Value:
    run_method(trace, self, "update", other)
    return self


@method(Dict, "move_to_end")
def dict_move_to_end(self: Dict, trace: Trace, key: Value, last: Any = None) -> Value:
    if self.get(trace, key) is None:
        return abstract.raise_with(trace, KeyError, [key])
    at = key_of(trace, self, key).hash_key(trace)
    to_end = last is None or last.truth(trace)
    if at == next(reversed(self.load(trace)) if to_end else iter(self.load(trace))):
        return Constant(None)
    entries = self.change(trace)
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


@method(Dict, "__eq__")
def dict_eq(self: Dict, trace: Trace, other: Value) -> Value:
    return dicts_equal(trace, self, other)


@method(Dict, "__ne__")
def dict_ne(self: Dict, trace: Trace, other: Value) -> Value:
    equal = dicts_equal(trace, self, other)
    return equal if equal.constant() is NotImplemented else abstract.negate(trace, equal)


@method(Dict, "fromkeys")
def dict_fromkeys(self: Dict, trace: Trace, keys: object, value: object = None) -> Value:
    made = self.made_like({})
    for key in abstract.unpack(trace, keys):
        made.put(trace, key, value or Constant(None))
    return made


def _unchanged(old: Any, new: Any) -> bool:
    return old is new or (type(old) is Lazy and old.source is not None and new.source is old.source)


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def dict_entries(trace: Trace, of: Dict) -> dict[Any, tuple[Any, Any]]:
    """All entries of a dict that came from outside; its keys are guarded."""


@declared
def dict_entry(trace: Trace, of: Dict, key: Value, at: object) -> tuple[Any, Any] | None:
    """One entry of a dict that came from outside, or None; only this key is guarded."""


@declared
def picked_entry(trace: Trace, of: Dict, key: Value) -> Value | None:
    """`of[key]` where `key` is a number or a text from outside that changes from call to call: what
    is under it in each call. None: the key had better be known."""


@declared
def dicts_equal(trace: Trace, left: Value, right: Value) -> Value:
    """`left == right`; between two OrderedDicts the order counts too."""
