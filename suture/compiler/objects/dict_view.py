"""The views of dictionaries: `keys()`, `values()`, `items()`, which are sets too."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import set_
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.list_ import List
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.set_ import Set
from suture.compiler.objects.tuple_ import Tuple


class DictView(Value):
    """`d.keys()`, `d.values()` or `d.items()`: follows the dict."""

    __slots__ = ("of", "what")

    def __init__(self, of: Any, what: str) -> None:
        super().__init__(None)
        self.of = of
        self.what = what

    def python_type(self) -> type:
        return type(getattr({}, self.what)())

    def elements(self, trace: Trace) -> list[Any]:
        if self.what == "keys":
            keys: list[Any] = self.of.keys(trace)
            return keys
        values: list[Any] = self.of.values(trace)
        if self.what == "values":
            return values
        return [Tuple([k, v]) for k, v in zip(self.of.keys(trace), values)]

    def truth(self, trace: Trace) -> bool | None:
        truth: bool | None = self.of.truth(trace)
        return truth

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "mapping":
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return abstract.container_attribute(trace, self, name)

    def _has_item(self, trace: Trace, item: Value) -> Value:
        pair = abstract.builtin_part(trace, item)
        if not isinstance(pair, Tuple) or len(pair.items) != 2:
            return Constant(False)
        key, value = pair.unpacked(trace)
        found = self.of.get(trace, key)
        return Constant(found is not None and abstract.same_or_equal(trace, found, value))

    def _set(self, trace: Trace) -> Value:
        return run_method(trace, Set(), "union", self)

    def hash_key(self, trace: Trace) -> Hashable:
        if self.python_type().__hash__ is None:  # compared as sets
            name = type_name(self.python_type())
            return abstract.raise_(trace, TypeError, f"unhashable type: '{name}'")
        return self.identity()

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.of)}.{self.what}()"


@method(DictView, "__len__")
def dict_view_len(self: DictView, trace: Trace) -> Value:
    return run_method(trace, self.of, "__len__")


@method(DictView, "__iter__")
def dict_view_iter(self: DictView, trace: Trace) -> Value:
    return abstract.mapping_iterator(trace, self.of, self.what)


@method(DictView, "__reversed__")
def dict_view_reversed(self: DictView, trace: Trace) -> Value:
    return abstract.list_iterator(trace, list(reversed(self.elements(trace))))


@method(DictView, "__contains__")
def dict_view_contains(self: DictView, trace: Trace, item: Value) -> Value:
    if self.what == "keys":
        return run_method(trace, self.of, "__contains__", item)
    if self.what == "items":
        return self._has_item(trace, item)
    return Constant(any(abstract.same_or_equal(trace, e, item) for e in self.elements(trace)))


@method(DictView, "isdisjoint")
def dict_view_isdisjoint(self: DictView, trace: Trace, other: Value) -> Value:
    return run_method(trace, self._set(trace), "isdisjoint", other)


def _view_compare(symbol: str) -> Any:
    """Views compare by their lengths, then by asking for each element of the smaller one."""

    def operate(self: DictView, trace: Trace, other: Value) -> Value:
        other = abstract.builtin_part(trace, other)
        if self.what == "values" or not _like_a_set(other):
            return Constant(NotImplemented)
        ours, theirs = _length(trace, self), _length(trace, other)
        may = _LENGTHS[symbol](ours, theirs)
        small, large = (other, self) if symbol in (">", ">=") else (self, other)
        if symbol == "!=":
            return Constant(may or not _all_in(trace, small, large))
        return Constant(may and _all_in(trace, small, large))

    return operate


def _length(trace: Trace, value: Any) -> Any:
    return abstract.constant_value(trace, run_method(trace, value, "__len__"))


def _like_a_set(value: object) -> bool:
    return isinstance(value, Set) or (isinstance(value, DictView) and value.what != "values")


def _all_in(trace: Trace, small: Any, large: Any) -> bool:
    members = list(small.elements(trace) if isinstance(small, DictView) else small.entries.values())
    return all(run_method(trace, large, "__contains__", item).constant() for item in members)


_LENGTHS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
for _name, _symbol in (
    ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
):  # fmt: skip
    method(DictView, f"__{_name}__")(_view_compare(_symbol))


def _view_operator(method: str, reflected: bool) -> Any:
    """`view | x` and its kin: a set of the left side, changed in place."""

    def operate(self: DictView, trace: Trace, other: Value) -> Value:
        if self.what == "values":
            return Constant(NotImplemented)
        left, right = (other, self) if reflected else (self, other)
        made = run_method(trace, Set(), "union", _filling(left))
        run_method(trace, made, method, right)
        return made

    return operate


def _filling(left: Value) -> Value:
    """What a set is filled from: of the keys of a dict it is that, which makes room for all."""
    if isinstance(left, DictView) and left.what == "keys":
        of: Value = left.of
        return of if of.python_type() is dict else left
    return left


def _view_and(self: DictView, trace: Trace, other: Value) -> Value:
    """`view & x`: members of the other side that are in the view, in the order of that side. A set
    that is not smaller is asked instead, and of two views the smaller one is gone through."""
    if self.what == "values":
        return Constant(NotImplemented)
    if isinstance(other, Set):
        if other.kind is set and _length(trace, self) <= len(other.entries):
            return run_method(trace, other, "intersection", self)
        other = List(set_.set_order(trace, other))
    elif isinstance(other, DictView) and _length(trace, other) > _length(trace, self):
        self, other = other, self
    return run_method(trace, run_method(trace, Set(), "union", self), "intersection", other)


method(DictView, "__and__")(_view_and)
method(DictView, "__rand__")(_view_and)
for _name, _method in (
    ("or", "update"), ("sub", "difference_update"), ("xor", "symmetric_difference_update"),
):  # fmt: skip
    method(DictView, f"__{_name}__")(_view_operator(_method, False))
    method(DictView, f"__r{_name}__")(_view_operator(_method, True))
