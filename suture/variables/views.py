"""The views of dictionaries: `keys()`, `values()`, `items()`, which are sets too."""

from __future__ import annotations

import operator
from typing import Any

from suture.breaks import Break, objects
from suture.variables.base import Variable
from suture.variables.constant import Constant
from suture.variables.sequence import Tuple
from suture.variables.sets import Set


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
        return Set().m_union(tx, self)

    def m_isdisjoint(self, tx: Any, other: Any) -> Any:
        return self._set(tx).m_isdisjoint(tx, other)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.of)}.{self.what}()"


def _view_compare(symbol: str) -> Any:
    """Views compare by their lengths, then by asking for each element of the smaller one."""

    def operate(self: DictView, tx: Any, other: Any) -> Any:
        other = tx.builtin_part(other)
        if self.what == "values" or not _like_a_set(other):
            return Constant(NotImplemented)
        ours, theirs = (tx.constant_value(v.m___len__(tx)) for v in (self, other))
        may = _LENGTHS[symbol](ours, theirs)
        small, large = (other, self) if symbol in (">", ">=") else (self, other)
        if symbol == "!=":
            return Constant(may or not _all_in(tx, small, large))
        return Constant(may and _all_in(tx, small, large))

    return operate


def _like_a_set(value: Any) -> bool:
    return isinstance(value, Set) or (isinstance(value, DictView) and value.what != "values")


def _all_in(tx: Any, small: Any, large: Any) -> bool:
    members = list(small.elements(tx) if isinstance(small, DictView) else small.entries.values())
    return all(large.m___contains__(tx, item).constant() for item in members)


_LENGTHS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
for _name, _symbol in (
    ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
):  # fmt: skip
    setattr(DictView, f"m___{_name}__", _view_compare(_symbol))


def _view_operator(method: str, reflected: bool) -> Any:
    """`view & x` and its kin give a set; either side may be the view."""

    def operate(self: DictView, tx: Any, other: Any) -> Any:
        if self.what == "values":
            return Constant(NotImplemented)
        left, right = (other, self) if reflected else (self, other)
        return getattr(Set().m_union(tx, left), method)(tx, right)

    return operate


for _name, _method in (
    ("and", "m_intersection"), ("or", "m_union"),
    ("sub", "m_difference"), ("xor", "m_symmetric_difference"),
):  # fmt: skip
    setattr(DictView, f"m___{_name}__", _view_operator(_method, False))
    setattr(DictView, f"m___r{_name}__", _view_operator(_method, True))
