"""The order of sets: that of CPython's hash table, or a break where nobody knows it."""

from __future__ import annotations

import enum
from operator import is_ as _is
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.conversions import wrap_known
from suture.compiler.language.hashing import HashKey
from suture.compiler.objects import MOVED, RealIdentity, Set, SetIterator, set_
from suture.compiler.objects.iterator import made_of_changed
from suture.compiler.outside.hashes_read import order_was_read
from suture.runtime.predicates import CopiesTo, SameOrder, is_literal
from suture.runtime.sources import Source


@implements(set_.set_iterator)
def set_iterator(trace: Trace, of: Set) -> Value:
    order = set_order(trace, of)
    return SetIterator(of, order, len(order), made_of_changed(trace, of))


@implements(set_.set_order)
def set_order(trace: Trace, of: Set) -> list[Any]:
    entries = of.entries
    if len(entries) < 2:
        return list(entries.values())
    if of.source is not None and not of.changed:
        _guard_order(trace, of.source, list(entries))
        return list(entries.values())
    if of.copied is not None:
        of.copied.asked = True
        _guard_order(trace, of.copied.source, of.copied.keys)
        trace.guards.add(of.copied.source, "truth", CopiesTo(of.copied.places))
        return [entries[of.copied.keys[place]] for place in of.copied.places]
    if of.table is MOVED or not all(_hash_is_known(trace, k, v) for k, v in entries.items()):
        raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=of.describe())
    if not of.keeps_order():
        raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=of.describe())
    order_was_read(trace, map(_real, entries))
    return [entries[key] for key in of.table]


def _guard_order(trace: Trace, source: Source, keys: list[Any]) -> None:
    """The set at `source` has the members that these stand for, in their order."""
    if id(source) not in trace.outside.ordered:
        trace.guards.add(source, "truth", SameOrder(map(_real, keys)))


def _hash_is_known(trace: Trace, key: Any, member: Any) -> bool:
    """Whether the real member has the hash of `key` whenever the region runs."""
    if isinstance(key, RealIdentity):
        if abstract.type_lookup(trace, type(key.of), "__hash__") is not object.__hash__:
            return False
        source = member.source
        return source is not None and (source.kind == "const" or abstract.is_fixed(trace, source))
    if isinstance(key, (tuple, frozenset)):
        return is_literal(key)
    return is_literal(key) or isinstance(key, (HashKey, enum.Enum))


def to_be_sorted(trace: Trace, of: Value) -> list[Any] | None:
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


@implements(abstract.known_set)
def known_set(trace: Trace, value: Any) -> Set:
    made = Set(None, None, type(value))
    for item in value:
        made.add(trace, wrap_known(trace, item))
    order = list(made.entries)
    if type(value) is frozenset and all(map(_is, order, value)):
        made.table = value
    elif list(made.table) != order:
        copied = set(value)
        same = all(map(_is, order, value)) and list(copied) == order
        made.table = copied if same else MOVED
        made.history.add("update", None)
    return made


def _real(key: Any) -> Any:
    """The real member of a set from outside that a hash key stands for."""
    if isinstance(key, HashKey):
        return key.of.real()
    return key.of if isinstance(key, RealIdentity) else key
