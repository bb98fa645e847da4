"""The order of sets: that of CPython's hash table, or a break where nobody knows it."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from operator import is_ as _is
from typing import Any

from suture.breaks import Break, objects
from suture.calls.objects.hashing import HashKey
from suture.calls.part import Part
from suture.variables import MOVED, RealIdentity, Set, SetIterator, is_literal


class SetOrder(Part):
    """The part of the tracer that knows in which order members come."""

    def set_iterator(self, of: Set) -> Any:
        order = self.set_order(of)
        return SetIterator(of, order, len(order))

    def set_order(self, of: Set) -> list[Any]:
        """The members in the order the real set has."""
        entries = of.entries
        if len(entries) < 2:
            return list(entries.values())
        if of.source is not None and not of.changed:
            self.guards.add(of.source, "truth", _SameOrder(map(_real, entries)))
            return list(entries.values())
        if of.table is MOVED or not all(self._hash_is_known(k, v) for k, v in entries.items()):
            raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=of.describe())
        if not of.keeps_order():
            raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=of.describe())
        return [entries[key] for key in of.table]

    def _hash_is_known(self, key: Any, member: Any) -> bool:
        """Whether the real member has the hash of `key` whenever the region runs."""
        if isinstance(key, RealIdentity):
            if self.type_lookup(type(key.of), "__hash__") is not object.__hash__:
                return False
            source = member.source
            return source is not None and (source.kind == "const" or self.is_fixed(source))
        if isinstance(key, (tuple, frozenset)):
            return is_literal(key)
        return is_literal(key) or isinstance(key, (HashKey, enum.Enum))

    def to_be_sorted(self, of: Any) -> list[Any] | None:
        """The members of a set in any order, if sorting gives the same whatever it is."""
        if not isinstance(of, Set):
            return None
        members = list(of.entries.values())
        if not all(member.is_constant() for member in members):
            return None
        values = [member.constant() for member in members]
        for kinds in ((int, bool), (str,), (bytes,)):
            if all(type(value) in kinds for value in values):
                return members
        return None

    def real_set(self, variable: Set) -> Any:
        """The value of a set made of constants, members in order."""
        order = [self.constant_value(v) for v in self.set_order(variable)]
        again = [self.constant_value(v) for v in variable.in_order()]
        for made in (variable.kind(order), variable.made_of(again)):
            if list(made) == order:
                return made
        raise Break(
            objects.UNKNOWN_OBJECT, operation="take the order of", object=variable.describe()
        )

    def known_set(self, value: Any) -> Set:
        """The variable of a set that was computed while tracing."""
        made = Set(None, None, type(value))
        for item in value:
            made.add(self, self.wrap_known(item))
        order = list(made.entries)
        if type(value) is frozenset and all(map(_is, order, value)):
            made.table = value
        elif list(made.table) != order:
            copied = set(value)
            same = all(map(_is, order, value)) and list(copied) == order
            made.table = copied if same else MOVED
        return made


class _SameOrder:
    """A predicate for guards: a set whose members come in this order."""

    __slots__ = ("__name__", "members")

    def __init__(self, members: Iterable[Any]) -> None:
        self.members = list(members)
        self.__name__ = "same_order"

    def __call__(self, other: Any) -> bool:
        return len(other) == len(self.members) and all(
            a is b or (is_literal(b) and bool(a == b)) for a, b in zip(other, self.members)
        )


def _real(key: Any) -> Any:
    """The real member of a set from outside that a hash key stands for."""
    if isinstance(key, HashKey):
        return key.of.real()
    return key.of if isinstance(key, RealIdentity) else key
