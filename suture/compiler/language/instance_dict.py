"""`obj.__dict__` of an instance whose attributes are tracked one by one."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.language.attributes import find_in_mro, put_attribute
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.objects import DELETED, Constant, Dict, Object
from suture.compiler.objects.lookup import has_dict, has_plain_keys, is_slot


class InstanceDict(Dict):
    """Reads and writes the attributes of its owner; holds nothing itself."""

    __slots__ = ("owner",)

    def __init__(self, owner: Object) -> None:
        source = owner.source.instance_dict() if owner.source is not None else None
        super().__init__(None, source, dict)
        self.owner = owner

    def load(self, trace: Trace) -> dict[Any, tuple[Any, Any]]:
        from suture.compiler.objects import Lazy

        owner = self.owner
        entries: dict[Any, tuple[Any, Any]] = {}
        if owner.value is not None:
            table = self._table(owner.value)
            trace.guards.add(self.source, "keys", tuple(table))
            for key, value in table.items():
                entries[key] = (Constant(key), Lazy(value, self.known_source.item(key)))
        for key, value in owner.attrs.items():
            if is_slot(find_in_mro(owner.python_type(), key)):
                continue
            if value is DELETED:
                entries.pop(key, None)
            else:
                entries[key] = (Constant(key), value)
        return entries

    def known_length(self) -> int | None:
        return None  # attributes that were set are put back after the making of an iterator

    def _table(self, value: object) -> dict[str, Any]:
        """What the real owner holds, under names: other keys are none of an attribute."""
        table: dict[str, Any] = object.__getattribute__(value, "__dict__")
        if not has_plain_keys(table):
            raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=self.describe())
        return table

    def get(self, trace: Trace, key: Any) -> Value | None:
        name = key.hash_key(trace)
        if type(name) is str:
            return instance_value(trace, self.owner, name)
        if self.owner.value is not None:
            self._table(self.owner.value)
            trace.guards.add(self.source, "no_key", abstract.constant_value(trace, key))
        return None

    def values(self, trace: Trace) -> list[Any]:
        return [abstract.realize(trace, v) for _, v in self.load(trace).values()]

    def put(self, trace: Trace, key: object, value: Any) -> None:
        name = abstract.constant_value(trace, key)
        if type(name) is not str:
            who = self.owner.describe()
            raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set item {name!r}", object=who)
        self.owner.touch(trace)
        put_attribute(self.owner.attrs, name, value)

    def remove(self, trace: Trace, key: Value) -> None:
        name = abstract.constant_value(trace, key)
        self.owner.touch(trace)
        self.owner.attrs.pop(name, None)
        table = getattr(self.owner.value, "__dict__", {}) if self.owner.value is not None else {}
        if name in table:
            self.owner.attrs[name] = DELETED

    def change(self, trace: Trace) -> Any:
        return _Removing(self, trace)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.__dict__"


class _Removing:
    """What Dict's methods do to `entries`, done to the owner's attributes instead."""

    def __init__(self, of: InstanceDict, trace: Trace) -> None:
        self.of = of
        self.trace = trace

    def __delitem__(self, name: str) -> None:
        self.of.remove(self.trace, Constant(name))

    def clear(self) -> None:
        for key in list(self.of.load(self.trace)):
            self.of.remove(self.trace, Constant(key))

    def pop(self, name: str, default: Any = None) -> Any:
        pair = self.of.load(self.trace).get(name, default)
        self.of.remove(self.trace, Constant(name))
        return pair


def dict_is_held(trace: Trace, obj: object) -> bool:
    """Whether the program holds the dict of a real object as a dict of its own."""
    value = getattr(obj, "value", None)
    if value is None or not has_dict(type(value)):
        return False
    known = trace.outside.known.get(id(object.__getattribute__(value, "__dict__")))
    return known is not None and getattr(known[1], "owner", None) is not obj


@implements(abstract.changed_owner)
def changed_owner(trace: Trace, table: dict[str, Any]) -> Value | None:
    effects = trace.effects
    if effects.indexed < len(effects.touched):  # by their ids: who else refers to them is counted
        for key, obj in itertools.islice(effects.touched.items(), effects.indexed, None):
            if isinstance(obj, Object) and obj.value is not None and has_dict(obj.cls):
                with contextlib.suppress(AttributeError):  # a dict that nobody can read
                    own = object.__getattribute__(obj.value, "__dict__")
                    effects.owners.setdefault(id(own), []).append(key)
        effects.indexed = len(effects.touched)
    for key in effects.owners.get(id(table), ()):
        owner: Value = effects.touched[key]
        if owner.attrs:  # type: ignore[attr-defined]
            return owner
    return None


@implements(abstract.instance_dict)
def instance_dict(trace: Trace, obj: Any) -> Value:
    return InstanceDict(obj)
