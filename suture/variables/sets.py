"""Sets, and the views of dictionaries, which are sets too."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, objects
from suture.variables.address import Address
from suture.variables.base import Variable
from suture.variables.constant import Constant
from suture.variables.sequence import Container, Tuple


def key_of(tx: Any, container: Any, key: Any) -> Any:
    """The key to look for: an id as a number where the container may hold numbers already."""
    if type(key) is Address and container.source is not None:
        return Constant(key.number(tx))
    return key


class DictView(Variable):
    """`d.keys()`, `d.values()` or `d.items()`: follows the dict."""

    __slots__ = ("of", "what")

    def __init__(self, of: Any, what: str) -> None:
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
        item = key_of(tx, self, item)
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
        return Constant(key_of(tx, self, item).hash_key(tx) in self.entries)

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

    def m___init__(self, tx: Any, items: Any = None) -> Any:
        if self.kind is set:
            made = Set()
            for item in tx.unpack(items) if items is not None else []:
                made.add(tx, item)
            self._in_place(tx, made)
        return Constant(None)

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
    setattr(
        Set, f"m___i{_name}__", _set_update(_method + "_update" if _name != "or" else "m_update")
    )
Set.m___xor__ = _set_operator("m_symmetric_difference")  # type: ignore[attr-defined]
Set.m___ixor__ = _set_update("m_symmetric_difference_update")  # type: ignore[attr-defined]
Set.m___eq__ = _set_compare(False, False, True)  # type: ignore[attr-defined]
Set.m___ne__ = _set_compare(False, False, False)  # type: ignore[attr-defined]
Set.m___le__ = _set_compare(False, False, None)  # type: ignore[attr-defined]
Set.m___lt__ = _set_compare(True, False, None)  # type: ignore[attr-defined]
Set.m___ge__ = _set_compare(False, True, None)  # type: ignore[attr-defined]
Set.m___gt__ = _set_compare(True, True, None)  # type: ignore[attr-defined]
