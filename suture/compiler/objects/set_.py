"""Sets. Their members come in the order of the hash table that CPython would have."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.address import Address, is_address_key, may_be_id
from suture.compiler.objects.constant import Constant, Volatile
from suture.compiler.objects.dict_keys import SET_ELEMENT, hashed
from suture.compiler.objects.list_ import List
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.sequence import Container
from suture.compiler.objects.set_tables import Recipe, recipe_for
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source

MOVED: Any = None  # a table of which only the members are known


def key_of(trace: Trace, container: Any, key: Any) -> Any:
    """The key to look for: an id, or one in a tuple, as a number where the container may hold
    numbers already. Among ids alone, which object each is of says which are equal."""
    kind = type(key)
    if container.entries:
        _stay_apart(trace, container, key.owner if kind is Address else key)
    if kind is Address or (kind is Tuple and holds_address(key)):
        if container.source is not None or any(map(may_be_id, container.entries)):
            return as_numbers(trace, key)
    elif kind is Volatile:
        raise key.unknown("hash")
    elif kind is Constant and may_be_id(key.value) and any(map(is_address_key, container.entries)):
        operation = "looking for a number among ids"
        raise Break(objects.UNKNOWN_OBJECT, operation=operation, object=container.describe())
    return key


def _stay_apart(trace: Trace, container: Any, owner: Any) -> None:
    """Keys that are told apart by identity must be other objects at the next call too."""
    if owner.source is None or isinstance(owner, (Constant, Tuple)):
        return
    for held in container.entries.values():
        other = held[0] if type(held) is tuple else held
        other = other.owner if type(other) is Address else other
        if type(other) is type(owner) and other.identity() != owner.identity():
            stay_apart(trace, owner, other)


def holds_address(key: Any) -> bool:
    """Whether an id is among the items of a tuple, or of one in it."""
    return any(
        type(i) is Address or (type(i) is Tuple and holds_address(i)) for i in list(key.items)
    )


def as_numbers(trace: Trace, key: object) -> Any:
    """The key, each id in it as the number that it is: the guards require the same objects."""
    if type(key) is Address:
        return Constant(key.number(trace))
    if type(key) is Tuple:
        # The id of what is made here is in no container that was there before.
        new = (type(i) is Address and i.owner.source is None for i in key.unpacked(trace))
        return key if any(new) else Tuple([as_numbers(trace, i) for i in key.unpacked(trace)])
    return key


def refuse_mixed(containers: Any) -> None:
    """Two sets of which one holds ids of objects, and the other numbers that may be such."""
    keys = [at for one in containers for at in one]
    if any(map(is_address_key, keys)) and any(map(may_be_id, keys)):
        operation = "comparing ids with numbers"
        raise Break(objects.UNKNOWN_OBJECT, operation=operation, object="a set")


def _member_key(trace: Trace, item: Value) -> Any:
    """What stands for an object that is looked for in a set: a set counts as a frozenset."""
    part = abstract.builtin_part(trace, item)
    if isinstance(part, Set) and part.kind is set:
        return frozenset(part.entries)
    return hashed(trace, item, SET_ELEMENT)


class Set(Container):
    """set or frozenset. `entries` maps hash keys to values. `table` holds the same keys in a
    real set that has gone through the same operations, and so has the same order; MOVED where the
    real set existed before, whose table can be any."""

    __slots__ = ("entries", "kind", "table")

    def __init__(
        self, entries: dict[Any, Any] | None = None, source: Source | None = None, kind: type = set
    ) -> None:
        super().__init__(source)
        self.entries: dict[Any, Any] = {} if entries is None else entries
        self.kind = kind
        self.table: Any = MOVED if source is not None else set(self.entries)

    def as_constant(self, trace: Trace) -> Any:
        """With its members in order, which is that of a table it was made of, or of a copy."""
        order = [abstract.constant_value(trace, v) for v in set_order(trace, self)]
        again = [abstract.constant_value(trace, v) for v in self.in_order()]
        for made in (self.kind(order), self.made_of(again)):
            if list(made) == order:
                return made
        raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=self.describe())

    def python_type(self) -> type:
        return self.kind

    def is_constant(self) -> bool:
        return self.kind is frozenset and all(v.is_constant() for v in self.entries.values())

    def constant(self) -> Any:
        return self.made_of([v.constant() for v in self.in_order()])

    def hash_key(self, trace: Trace) -> Hashable:
        if self.kind is set:
            return abstract.raise_(trace, TypeError, "unhashable type: 'set'")
        return frozenset(self.entries)

    def truth(self, trace: Trace) -> bool | None:
        return bool(self.entries)

    def add(self, trace: Trace, item: object) -> None:
        item = key_of(trace, self, item)
        self._put(hashed(trace, item, SET_ELEMENT), item)

    def _put(self, key: Any, item: object) -> None:
        self.entries.setdefault(key, item)
        if self.table is not MOVED:
            self.table.add(key)

    def in_order(self) -> list[Any]:
        """The members in an order that makes a new set like this one, if one is found."""
        if self.table is MOVED:
            return list(self.entries.values())
        found = self._recipe()
        return [self.entries[key] for key in (self.table if found is None else found.members)]

    def made_of(self, members: list[Any]) -> Any:
        """The real set with these members, which come as `in_order` gives them."""
        return (self._recipe() or Recipe(members)).follow(members, self.kind)

    def keeps_order(self) -> bool:
        """Whether the set has, once it is real, the order it has here."""
        if self.table is MOVED:
            return self.source is not None and not self.changed
        return self._recipe() is not None

    def _recipe(self) -> Recipe | None:
        if self.table is MOVED:
            return None
        return recipe_for(list(self.table), list(self.entries), self.kind)

    # ---- two sets

    def operand(self) -> Operand:
        if self.table is MOVED:
            return Operand(self.entries, list(self.entries), False)
        return Operand(self.entries, self.table, True)

    def _base(self) -> set[Any]:
        """The table, not to be changed; that of a frozenset may be one itself."""
        return set(self.entries) if self.table is MOVED else self.table

    def _like(self, table: set[Any], *operands: Operand) -> Any:
        """A new set with these keys, each the member of the operand that it comes from."""
        made = Set(None, None, self.kind)
        every = (*operands, self.operand())
        refuse_mixed(o.entries for o in every)
        found = {id(k): v for o in every for k, v in o.entries.items()}
        made.entries = {k: found[id(k)] for k in table}
        made.table = table if all(o.known for o in every) else MOVED
        return made

    def change(self, trace: Trace) -> dict[Any, Any]:
        self.touch(trace)
        return self.entries

    # ---- methods of the real type

    def _operand_items(self, trace: Trace, other: object) -> dict[Any, Any]:
        found = operand_of(trace, other).entries
        refuse_mixed((self.entries, found))
        return found

    # ---- making it real

    def rebuild(self, emit: Emitter) -> str:
        if self.kind is frozenset:
            return f"frozenset({self._steps(emit)[0]})"
        name = str(emit.begin(self, "set()"))
        self._fill(emit, name)
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        self._fill(emit, name)

    def _fill(self, emit: Emitter, name: str) -> None:
        updates = "; ".join(f"set.update({name}, {step})" for step in self._steps(emit))
        emit.line(f"set.clear({name}); {updates}")

    def _steps(self, emit: Emitter) -> list[str]:
        """What to put into a new set, one after the other, in source form."""
        members = [emit.value(v) for v in self.in_order()]
        steps = (self._recipe() or Recipe(members)).steps(members)
        texts = [(", ".join(step), as_dict) for step, as_dict in steps]
        return [f"dict.fromkeys([{text}])" if as_dict else f"[{text}]" for text, as_dict in texts]


@method(Set, "__len__")
def set_len(self: Set, trace: Trace) -> Value:
    return Constant(len(self.entries))


@method(Set, "__iter__")
def set_iter(self: Set, trace: Trace) -> Value:
    return set_iterator(trace, self)


@method(Set, "__contains__")
def set_contains(self: Set, trace: Trace, item: Value) -> Value:
    return Constant(_member_key(trace, key_of(trace, self, item)) in self.entries)


@method(Set, "add")
def set_add(self: Set, trace: Trace, item: object) -> Value:
    item = key_of(trace, self, item)
    key = hashed(trace, item, SET_ELEMENT)
    self.change(trace)
    self._put(key, item)
    return Constant(None)


@method(Set, "discard")
def set_discard(self: Set, trace: Trace, item: Value) -> Value:
    key = _member_key(trace, key_of(trace, self, item))
    self.change(trace).pop(key, None)
    if self.table is not MOVED:
        self.table.discard(key)
    return Constant(None)


@method(Set, "remove")
def set_remove(self: Set, trace: Trace, item: Value) -> Value | None:
    if _member_key(trace, key_of(trace, self, item)) not in self.entries:
        return abstract.raise_with(trace, KeyError, [item])
    return run_method(trace, self, "discard", item)


@method(Set, "pop")
def set_pop(self: Set, trace: Trace) -> Value | None:
    if not self.entries:
        return abstract.raise_(trace, KeyError, "pop from an empty set")
    first = set_order(trace, self)[0]
    if self.table is not MOVED:
        key = self.table.pop()
        return self.change(trace).pop(key)
    return self.change(trace).pop(key_of(trace, self, first).hash_key(trace))


@method(Set, "clear")
def set_clear(self: Set, trace: Trace) -> Value:
    self.change(trace).clear()
    if self.table is not MOVED:
        self.table.clear()
    return Constant(None)


@method(Set, "copy")
def set_copy(self: Set, trace: Trace) -> Value:
    return self if self.kind is frozenset else self._like(self._base().copy())


@method(Set, "union")
def set_union(self: Set, trace: Trace, *others: Value) -> Value:
    operands = [operand_of(trace, other) for other in others]
    table = set(self._base()) if self.kind is frozenset else self._base().copy()
    table.update(*(o.keys for o in operands))
    return self._like(table, *operands)


@method(Set, "intersection")
def set_intersection(self: Set, trace: Trace, *others: Value) -> Value:
    operands = [operand_of(trace, other) for other in others]
    return self._like(self._base().intersection(*(o.keys for o in operands)), *operands)


@method(Set, "difference")
def set_difference(self: Set, trace: Trace, *others: Value) -> Value:
    operands = [operand_of(trace, other) for other in others]
    refuse_mixed((self.entries, *(o.entries for o in operands)))
    return self._like(self._base().difference(*(o.keys for o in operands)))


@method(Set, "symmetric_difference")
def set_symmetric_difference(self: Set, trace: Trace, other: Value) -> Value:
    right = operand_of(trace, other)
    return self._like(self._base().symmetric_difference(right.keys), right)


@method(Set, "__init__")
def set_init(self: Set, trace: Trace, items: Any = None) -> Value:
    if self.kind is set:
        operands = [] if items is None else [operand_of(trace, items)]
        made = Set()._like(set(operands[0].keys), *operands) if operands else Set()
        run_method(trace, self, "clear")
        run_method(trace, self, "update", made)
    return Constant(None)


@method(Set, "issubset")
def set_issubset(self: Set, trace: Trace, other: Value) -> Value:
    right = self._operand_items(trace, other)
    return Constant(all(k in right for k in self.entries))


@method(Set, "issuperset")
def set_issuperset(self: Set, trace: Trace, other: Value) -> Value:
    right = self._operand_items(trace, other)
    return Constant(all(k in self.entries for k in right))


@method(Set, "isdisjoint")
def set_isdisjoint(self: Set, trace: Trace, other: Value) -> Value:
    if not abstract.is_settled(trace, other):
        keys = (
            hashed(trace, key_of(trace, self, i), SET_ELEMENT) for i in abstract.each(trace, other)
        )
        return Constant(all(key not in self.entries for key in keys))
    right = self._operand_items(trace, other)
    return Constant(not any(k in right for k in self.entries))


@method(Set, "__reduce_ex__")
def set_reduce_ex(self: Set, trace: Trace, protocol: Value) -> Value:
    parts = [
        abstract.wrap(trace, self.kind, None),
        Tuple([List(set_order(trace, self))]),
        Constant(None),
    ]
    return Tuple(parts)


@method(Set, "__reduce__")
def set_reduce(self: Set, trace: Trace) -> Value | None:
    return run_method(trace, self, "__reduce_ex__", Constant(2))


class Operand:
    """One operand of an operation on sets: its members by key, its keys as the real operation
    takes them, and whether these come in the order of the real ones."""

    __slots__ = ("entries", "keys", "known")

    def __init__(self, entries: dict[Any, Any], keys: Any, known: bool) -> None:
        self.entries = entries
        self.keys = keys
        self.known = known


def operand_of(trace: Trace, value: Any) -> Operand:
    """The members of any iterable. Those of a set are taken without asking for their order, and
    those of a dict without hashing them anew."""
    part = abstract.builtin_part(trace, value)
    if isinstance(part, Set):
        return part.operand()
    if value.python_type() is dict and isinstance(value, Container):
        entries = {at: pair[0] for at, pair in value.load(trace).items()}  # type: ignore[attr-defined]
        return Operand(entries, dict.fromkeys(entries), True)
    entries = {}
    for item in abstract.unpack(trace, value):
        if type(item) is Volatile:
            raise item.unknown("hash")
        entries.setdefault(hashed(trace, item, SET_ELEMENT), item)
    return Operand(entries, list(entries), True)


def _in_place(name: str) -> Any:
    """The method that changes a set as the real one of that name changes its table."""

    def operate(self: Set, trace: Trace, *others: Value) -> Value:
        if name == "symmetric_difference_update" and len(others) != 1:
            return abstract.refused_method(trace, set, name, list(others), {})
        operands = [operand_of(trace, other) for other in others]
        operands = [Operand(dict(o.entries), o.keys, o.known) for o in operands]
        before = self.operand()
        refuse_mixed(o.entries for o in (*operands, before))
        table = self._base()
        found = {id(k): v for o in (*operands, before) for k, v in o.entries.items()}
        entries = self.change(trace)
        getattr(table, name)(*(o.keys for o in operands))
        self.table = table if all(o.known for o in (*operands, before)) else MOVED
        kept = {k: found[id(k)] for k in (entries if name == "update" else ()) if k in table}
        kept.update((k, found[id(k)]) for k in table if k not in kept)
        entries.clear()
        entries.update(kept)
        return Constant(None)

    return operate


for _name in ("update", "intersection_update", "difference_update", "symmetric_difference_update"):
    method(Set, f"{_name}")(_in_place(_name))


def _set_operator(method: str) -> Any:
    def operate(self: Set, trace: Trace, other: Value) -> Value | None:
        if not isinstance(abstract.builtin_part(trace, other), Set):
            return Constant(NotImplemented)
        return run_method(trace, self, method, other)

    return operate


def _set_update(method: str) -> Any:
    def operate(self: Set, trace: Trace, other: Value) -> Value:
        if not isinstance(abstract.builtin_part(trace, other), Set):
            return Constant(NotImplemented)
        run_method(trace, self, method, other)
        return self

    return operate


def _set_compare(strict: bool, flip: bool, equal: bool | None) -> Any:
    def operate(self: Set, trace: Trace, other: Value) -> Value:
        other = abstract.builtin_part(trace, other)
        if not isinstance(other, Set):
            return Constant(NotImplemented)
        refuse_mixed((self.entries, other.entries))
        a, b = set(self.entries), set(other.entries)
        if equal is not None:
            return Constant((a == b) is equal)
        if flip:
            a, b = b, a
        return Constant(a < b if strict else a <= b)

    return operate


for _name, _method in (("and", "intersection"), ("or", "union"), ("sub", "difference")):
    method(Set, f"__{_name}__")(_set_operator(_method))
    method(Set, f"__i{_name}__")(_set_update(_method + "_update" if _name != "or" else "update"))
method(Set, "__xor__")(_set_operator("symmetric_difference"))
method(Set, "__ixor__")(_set_update("symmetric_difference_update"))
method(Set, "__eq__")(_set_compare(False, False, True))
method(Set, "__ne__")(_set_compare(False, False, False))
method(Set, "__le__")(_set_compare(False, False, None))
method(Set, "__lt__")(_set_compare(True, False, None))
method(Set, "__ge__")(_set_compare(False, True, None))
method(Set, "__gt__")(_set_compare(True, True, None))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def set_iterator(trace: Trace, of: Set) -> Value:
    """`iter(of)` of a set, in the order the real set has."""


@declared
def set_order(trace: Trace, of: Set) -> list[Any]:
    """The members in the order the real set has."""


@declared
def stay_apart(trace: Trace, left: Value, right: Value) -> None:
    """Two objects from outside were asked whether they are one: they must stay two."""
