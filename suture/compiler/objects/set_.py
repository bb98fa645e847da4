"""Sets. Their members come in the order of the hash table that CPython would have."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant, Volatile
from suture.compiler.objects.dict_keys import SET_ELEMENT, hashed
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.sequence import Container
from suture.compiler.objects.set_history import History, Operand, leaves, makes_new_ones, spelled
from suture.compiler.objects.set_keys import compare_members, key_of
from suture.compiler.objects.set_tables import Recipe, recipe_for
from suture.compiler.objects.tensor import Symbol
from suture.runtime.predicates import LITERALS
from suture.runtime.set_steps import follow
from suture.runtime.sources import Source

MOVED: Any = None  # a table of which only the members are known


def _member_key(trace: Trace, item: Value) -> Any:
    """What stands for an object that is looked for in a set: a set counts as a frozenset."""
    part = abstract.builtin_part(trace, item)
    if isinstance(part, Set) and part.kind is set:
        return frozenset(part.entries)
    return hashed(trace, item, SET_ELEMENT)


@dataclass
class Copied:
    """Of a copy of a set from outside whose order a guard can tell: that set, its members in order,
    the places there of those of the copy, where the copy is made (code, index), and whether its
    order was asked for."""

    source: Source
    keys: list[Any]
    places: list[int]
    position: Any
    asked: bool = False


class Set(Container):
    """set or frozenset. `entries` maps hash keys to values. `table` holds the same keys in a
    real set that has gone through the same operations, and so has the same order; MOVED where the
    real set existed before, whose table can be any."""

    __slots__ = ("copied", "entries", "history", "kind", "lent", "table")

    def __init__(
        self, entries: dict[Any, Any] | None = None, source: Source | None = None, kind: type = set
    ) -> None:
        super().__init__(source)
        self.entries: dict[Any, Any] = {} if entries is None else entries
        self.kind = kind
        self.table: Any = MOVED if source is not None else set(self.entries)
        self.copied: Copied | None = None
        self.lent = False  # whether another set has been made of it, as it was from outside
        self.history = History()  # of the table; of what has changed, if it was there before
        if source is None and self.entries:
            self.history.add("update", (("dict", tuple(self.entries)),))

    def as_constant(self, trace: Trace) -> Any:
        """With its members in order, which is that of a table it was made of, or of a copy, or
        of one that has gone through the same."""
        order = [abstract.constant_value(trace, v) for v in set_order(trace, self)]
        again = [abstract.constant_value(trace, v) for v in self.in_order()]
        for made in (self.kind(order), self.made_of(again)):
            if list(made) == order:
                return made
        if self.table is not MOVED and (steps := self.own_steps(True)) is not None:
            made = follow(steps, given=self.kind())
            if list(made) == order:
                return made
        raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=self.describe())

    def python_type(self) -> type:
        return self.kind

    def is_constant(self) -> bool:
        """The order is part of it: one that is made here, in an order nobody knows, is none."""
        if self.kind is not frozenset or not all(v.is_constant() for v in self.entries.values()):
            return False
        if len(self.entries) < 2:
            return True
        return self.table is not MOVED and bool(self.own_steps(alone=True) or self._recipe())

    def constant(self) -> Any:
        steps = None if self.table is MOVED else self.own_steps(alone=True)
        if steps is not None and self._recipe() is None:
            return follow(steps, given=frozenset())
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
        if key not in self.entries:
            self.history.add("add", (("key", key),))
            self.copied = None
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
        return self.own_steps() is not None or self._recipe() is not None

    def own_steps(self, alone: bool = False) -> Any:
        """The steps that make the set anew, if they are known; `alone`: of nothing else."""
        if not self._is_plain():
            return None
        moved = self.table is MOVED
        steps = self.history.frozen() if moved else self.history.gives(self.table, alone)
        return steps if self.kind is set or makes_new_ones(steps) else None

    def _is_plain(self) -> bool:
        """Whether the members are what they are as keys: no objects that count as a number."""
        return all(
            v.value is k if isinstance(v, Constant) else isinstance(v, Symbol)  # fixed by its hash
            for k, v in self.entries.items()
        )

    def _recipe(self) -> Recipe | None:
        if self.table is MOVED:
            return None
        return recipe_for(list(self.table), list(self.entries), self.kind)

    # ---- two sets

    def operand(self) -> Operand:
        if self.table is MOVED:
            leaf: Any = ("outside", self)
            known = not self.changed
            if self.source is None:
                leaf = ("set", self.history.frozen())
                known = leaf[1] is not None
            return Operand(self.entries, set(self.entries), False, leaf, known)
        if type(self.table) is frozenset:
            return Operand(self.entries, self.table, True, ("frozen", self.table))
        steps = self.history.frozen()
        return Operand(self.entries, self.table, True, ("set", steps), steps is not None)

    def base_table(self) -> set[Any]:
        """The table, not to be changed; that of a frozenset may be one itself."""
        return set(self.entries) if self.table is MOVED else self.table

    def _like(self, trace: Trace, name: str, table: set[Any], *operands: Operand) -> Set:
        """A new set with these keys, each the member of the operand that it comes from. It is what
        method `name` gives."""
        made = Set(None, None, self.kind)
        every = (*operands, self.operand())
        compare_members(trace, [o.entries for o in every])
        found = {id(k): v for o in every for k, v in o.entries.items()}
        made.entries = {k: found[id(k)] for k in table}
        made.table = table if all(o.known for o in every) else MOVED
        made.history = self._begun().goes_on(name, leaves(operands))
        refuse_unknown_order(made)
        return made

    def _begun(self) -> History:
        """What a set that is made of this one has gone through before."""
        if self.source is not None:
            self.lent = True
            return History.of_outside(self)
        return self.history

    def change(self, trace: Trace) -> dict[Any, Any]:
        if self.lent and not self.changed and all(type(k) in LITERALS for k in self.entries):
            # What was made of it is made when the region ends, of the set as it is by then.
            raise Break(objects.UNKNOWN_OBJECT, operation="change", object=self.describe())
        self.touch(trace)
        self.copied = None
        return self.entries

    # ---- methods of the real type

    def _operand_items(self, trace: Trace, other: object) -> dict[Any, Any]:
        found = operand_of(trace, other).entries
        compare_members(trace, (self.entries, found))
        return found

    # ---- making it real

    def rebuild(self, emit: Emitter) -> str:
        steps = self.own_steps()
        if steps is None and self.copied is not None and self.copied.asked:
            raise MadeByPython(self.copied.position, "a copy of a set")
        if self.kind is frozenset:
            if steps is not None and self._recipe() is None:
                return spelled(emit, steps, "frozenset()")
            return f"frozenset({self._steps(emit)[0]})"
        if steps is not None and self.entries:
            return str(emit.begin(self, spelled(emit, steps)))
        name = str(emit.begin(self, "set()"))
        self._fill(emit, name)
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        steps = self.history.frozen() if self.source is not None else None
        if steps is None or self.kind is not set or not self._is_plain():
            self._fill(emit, name)
        else:
            emit.line(spelled(emit, steps, name))

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
    gone = self.change(trace).pop(key, None)
    if gone is not None:
        self.history.add("discard", (("key", key),))
    if self.table is not MOVED:
        self.table.discard(key)
    return Constant(None)


@method(Set, "remove")
def set_remove(self: Set, trace: Trace, item: Value) -> Value:
    if _member_key(trace, key_of(trace, self, item)) not in self.entries:
        return abstract.raise_with(trace, KeyError, [item])
    return run_method(trace, self, "discard", item)


@method(Set, "pop")
def set_pop(self: Set, trace: Trace) -> Value:
    if not self.entries:
        return abstract.raise_(trace, KeyError, "pop from an empty set")
    if self.source is not None and len(self.entries) > 1:  # it goes on where the last pop was
        raise Break(objects.UNKNOWN_OBJECT, operation="pop from", object=self.describe())
    first = set_order(trace, self)[0]
    entries = self.change(trace)
    self.history.add("pop", ())
    moved = self.table is MOVED
    at = key_of(trace, self, first).hash_key(trace) if moved else self.table.pop()
    member: Value = entries.pop(at)
    return member


@method(Set, "clear")
def set_clear(self: Set, trace: Trace) -> Value:
    self.change(trace).clear()
    self.history.add("clear", ())
    if self.table is not MOVED:
        self.table.clear()
    return Constant(None)


@method(Set, "union")
def set_union(self: Set, trace: Trace, *others: Value) -> Value:
    operands = [operand_of(trace, other) for other in others]
    table = set(self.base_table()) if self.kind is frozenset else self.base_table().copy()
    table.update(*(o.keys for o in operands))
    return self._like(trace, "union", table, *operands)


@method(Set, "intersection")
def set_intersection(self: Set, trace: Trace, *others: Value) -> Value:
    operands = [operand_of(trace, other) for other in others]
    table = self.base_table().intersection(*(o.keys for o in operands))
    return self._like(trace, "intersection", table, *operands)


@method(Set, "difference")
def set_difference(self: Set, trace: Trace, *others: Value) -> Value:
    operands = [operand_of(trace, other) for other in others]
    compare_members(trace, (self.entries, *(o.entries for o in operands)))
    table = self.base_table().difference(*(o.keys for o in operands))
    made = self._like(trace, "copy", table)
    made.history = self._begun().goes_on("difference", leaves(operands, True))
    refuse_unknown_order(made)
    return made


@method(Set, "symmetric_difference")
def set_symmetric_difference(self: Set, trace: Trace, other: Value) -> Value:
    right = operand_of(trace, other)
    table = self.base_table().symmetric_difference(right.keys)
    return self._like(trace, "symmetric_difference", table, right)


@method(Set, "__init__")
def set_init(self: Set, trace: Trace, items: Any = None) -> Value:
    if self.kind is set:
        operands = [] if items is None else [operand_of(trace, items)]
        made = Set()
        if operands:
            made = made._like(trace, "union", set(operands[0].keys), *operands)
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


def refuse_unknown_order(made: Set) -> None:
    """A new set of numbers and texts of which nobody knows the order is made by Python."""
    if made.own_steps() is not None or made.keeps_order():
        return
    if all(type(k) in LITERALS for k in made.entries):
        raise Break(objects.UNKNOWN_OBJECT, operation="take the order of", object=made.describe())


def operand_of(trace: Trace, value: Any) -> Operand:
    """The members of any iterable. Those of a set are taken without asking for their order, and
    those of a dict without hashing them anew."""
    part = abstract.builtin_part(trace, value)
    if isinstance(part, Set):
        return part.operand()
    if value.python_type() is dict and isinstance(value, Container):
        entries = {at: pair[0] for at, pair in value.load(trace).items()}  # type: ignore[attr-defined]
        return Operand(entries, dict.fromkeys(entries), True, ("dict", tuple(entries)))
    entries = {}
    for item in abstract.unpack(trace, value):
        if type(item) is Volatile:
            raise item.unknown("hash")
        abstract.keep_apart(trace, item, entries.values())
        entries.setdefault(hashed(trace, item, SET_ELEMENT), item)
    return Operand(entries, list(entries), True, ("list", tuple(entries)))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def set_iterator(trace: Trace, of: Set) -> Value:
    """`iter(of)` of a set, in the order the real set has."""


@declared
def set_order(trace: Trace, of: Set) -> list[Any]:
    """The members in the order the real set has."""
