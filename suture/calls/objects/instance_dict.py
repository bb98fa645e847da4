"""`obj.__dict__` of an instance whose attributes are tracked one by one."""

from __future__ import annotations

from typing import Any

from suture.calls.objects.attributes import MISSING, find_in_mro, put_attribute
from suture.calls.outside.instances import has_dict, is_slot
from suture.calls.part import Part
from suture.variables import DELETED, Constant, Dict, Object


class InstanceDict(Dict):
    """Reads and writes the attributes of its owner; holds nothing itself."""

    __slots__ = ("owner",)

    def __init__(self, owner: Object) -> None:
        source = owner.source.instance_dict() if owner.source is not None else None
        super().__init__(None, source, dict)
        self.owner = owner

    def load(self, tx: Any) -> dict[Any, tuple[Any, Any]]:
        from suture.variables import Lazy

        owner = self.owner
        entries: dict[Any, tuple[Any, Any]] = {}
        if owner.value is not None:
            table = object.__getattribute__(owner.value, "__dict__")
            if not all(type(k) is str for k in table):
                return super().load(tx)
            tx.guards.add(self.source, "keys", tuple(table))
            for key, value in table.items():
                entries[key] = (Constant(key), Lazy(value, self.source.item(key)))
        for key, value in owner.attrs.items():
            if is_slot(find_in_mro(owner.python_type(), key)):
                continue
            if value is DELETED:
                entries.pop(key, None)
            else:
                entries[key] = (Constant(key), value)
        return entries

    def get(self, tx: Any, key: Any) -> Any:
        name = key.hash_key(tx)
        if type(name) is not str:
            return None
        found = tx.instance_value(self.owner, name)
        return None if found is MISSING else found

    def values(self, tx: Any) -> list[Any]:
        return [tx.realize(v) for _, v in self.load(tx).values()]

    def put(self, tx: Any, key: Any, value: Any) -> None:
        name = tx.constant_value(key)
        self.owner.touch(tx)
        put_attribute(self.owner.attrs, name, value)

    def remove(self, tx: Any, key: Any) -> None:
        name = tx.constant_value(key)
        self.owner.touch(tx)
        self.owner.attrs.pop(name, None)
        table = getattr(self.owner.value, "__dict__", {}) if self.owner.value is not None else {}
        if name in table:
            self.owner.attrs[name] = DELETED

    def change(self, tx: Any) -> Any:
        return _Removing(self, tx)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.owner)}.__dict__"


class _Removing:
    """What Dict's methods do to `entries`, done to the owner's attributes instead."""

    def __init__(self, of: InstanceDict, tx: Any) -> None:
        self.of = of
        self.tx = tx

    def __delitem__(self, name: str) -> None:
        self.of.remove(self.tx, Constant(name))

    def clear(self) -> None:
        for key in list(self.of.load(self.tx)):
            self.of.remove(self.tx, Constant(key))

    def pop(self, name: str, default: Any = None) -> Any:
        pair = self.of.load(self.tx).get(name, default)
        self.of.remove(self.tx, Constant(name))
        return pair


class InstanceDicts(Part):
    """The part of the tracer that knows which dict is the `__dict__` of which object."""

    effects: Any
    _known: dict[int, tuple[Any, Any]]

    def dict_is_held(self, obj: Any) -> bool:
        """Whether the program holds the dict of a real object as a dict of its own."""
        value = getattr(obj, "value", None)
        if value is None or not has_dict(type(value)):
            return False
        known = self._known.get(id(object.__getattribute__(value, "__dict__")))
        return known is not None and getattr(known[1], "owner", None) is not obj

    def changed_owner(self, table: dict[str, Any]) -> Any:
        """The object with attributes set in the region whose dict this is, if there is one."""
        for obj in self.effects.touched.values():
            if isinstance(obj, Object) and obj.attrs and obj.value is not None:
                if has_dict(obj.cls) and object.__getattribute__(obj.value, "__dict__") is table:
                    return obj
        return None

    def instance_dict(self, obj: Any) -> Any:
        """`obj.__dict__`."""
        return InstanceDict(obj)
