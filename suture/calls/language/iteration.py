"""Iteration, unpacking, dictionaries read from outside."""

from __future__ import annotations

import collections
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow, objects
from suture.calls.objects.attributes import MISSING
from suture.calls.outside.instances import RawItem, reads_itself
from suture.calls.part import Part
from suture.sources import Source
from suture.variables import (
    END,
    CalledIterator,
    Class,
    Constant,
    Dict,
    DictIterator,
    DictView,
    Generator,
    IndexIterator,
    Iterator,
    Lazy,
    ListIterator,
    Object,
    Raised,
    RangeIterator,
    Sequence,
    SequenceIterator,
    Set,
    Tensor,
    is_literal,
)


def item_source(of: Dict, key: Any) -> Source:
    """Where an item of a real dict is read."""
    source: Source = of.source
    return source.call(RawItem(dict, key)) if reads_itself(type(of.backing)) else source.item(key)


class Iteration(Part):
    """The part of the tracer that goes over things."""

    def iterate(self, value: Any) -> Any:
        """`iter(value)`: always something `advance` can move."""
        if isinstance(value, (Iterator, Generator)):
            return value
        if isinstance(value, Constant):
            return self._constant_iterator(value.constant())
        if isinstance(value, Tensor):
            made = self.special_override(value, "__iter__", []) if self.asks else None
            return made if made is not None else ListIterator(self.tensor_rows(value))
        own = getattr(type(value), "m___iter__", None)
        if own is not None:
            return own(value, self)
        cls = value.python_type()
        if isinstance(value, Object) and isinstance(value.storage, Constant):
            if not isinstance(self.type_lookup(cls, "__iter__"), types.FunctionType):
                return self.iterate(value.storage)
        if self.type_lookup(cls, "__iter__") is MISSING:
            if isinstance(value, Object) and self.type_lookup(cls, "__getitem__") is not MISSING:
                return IndexIterator(value)
            return self.raise_(TypeError, f"'{type_name(cls)}' object is not iterable")
        if self._is_c_iterator(cls):
            return value
        if isinstance(value, (Object, Class)):
            return self._made_iterator(value, cls)
        raise Break(control_flow.UNKNOWN_ITERATOR, iterator=value.describe())

    def _is_c_iterator(self, cls: type) -> bool:
        """An iterator in C that suture did not make: its own iterator, which Python moves."""
        makes, moves = self.type_lookup(cls, "__iter__"), self.type_lookup(cls, "__next__")
        return isinstance(makes, types.WrapperDescriptorType) and isinstance(
            moves, types.WrapperDescriptorType
        )

    def _made_iterator(self, value: Any, cls: type) -> Any:
        """What the program's own __iter__ gives."""
        made = self.finish(self.call_type_method(value, "__iter__", [], {}))
        if not hasattr(made.python_type(), "__next__"):
            kind = type_name(made.python_type())
            return self.raise_(TypeError, f"iter() returned non-iterator of type '{kind}'")
        return made

    def _constant_iterator(self, value: Any) -> Any:
        if type(value) is range:
            return RangeIterator(value)
        if not hasattr(type(value), "__iter__"):
            return self.raise_(TypeError, f"'{type_name(type(value))}' object is not iterable")
        items = [self.known(v) for v in value]
        return CalledIterator(items, type(iter(value)), iter, [value])

    def advance(self, iterator: Any) -> Any:
        """The next element, or END."""
        if isinstance(iterator, (Iterator, Generator)):
            return iterator.advance(self)
        if isinstance(iterator, Object):
            try:
                return self.finish(self.call_type_method(iterator, "__next__", [], {}))
            except Raised as raised:
                if issubclass(raised.exception.python_type(), StopIteration):
                    return END
                raise
        raise Break(control_flow.UNKNOWN_ITERATOR, iterator=iterator.describe())

    def elements(self, value: Any) -> list[Any]:
        """All elements of an iterable."""
        if isinstance(value, Sequence):
            return list(value.unpacked(self))
        iterator = self.iterate(value)
        if isinstance(iterator, (Iterator, Generator)):
            return iterator.remaining(self)
        out = []
        while (item := self.advance(iterator)) is not END:
            out.append(item)
        return out

    def unpack(self, value: Any) -> list[Any]:
        return self.elements(value)

    def is_settled(self, value: Any) -> bool:
        """Whether reading the elements runs no code of the program in between."""
        if isinstance(value, Object) and isinstance(value.storage, Sequence):
            return not isinstance(self.type_lookup(value.cls, "__iter__"), types.FunctionType)
        return isinstance(value, (Sequence, Constant, Dict, Set, DictView, Tensor))

    def each(self, value: Any) -> Any:
        """The elements one by one, for who acts between two of them."""
        iterator = self.iterate(value)
        while (item := self.advance(iterator)) is not END:
            yield item

    def unpack_exactly(self, value: Any, count: int) -> list[Any]:
        """`a, b = value`."""
        if isinstance(value, Tensor):
            items = self.tensor_rows(value)
        else:
            items = self._first(value, count)
        if len(items) < count:
            self.raise_(
                ValueError, f"not enough values to unpack (expected {count}, got {len(items)})"
            )
        if len(items) > count:
            self.raise_(ValueError, f"too many values to unpack (expected {count})")
        return items

    def _first(self, value: Any, count: int) -> list[Any]:
        cls = value.python_type()
        if not any(hasattr(cls, name) for name in ("__iter__", "__getitem__")):
            self.raise_(TypeError, f"cannot unpack non-iterable {cls.__name__} object")
        if isinstance(value, (Sequence, Constant, Dict, Set, DictView)):
            return self.elements(value)
        iterator = self.iterate(value)
        items = []  # type: ignore[var-annotated]
        while len(items) <= count and (item := self.advance(iterator)) is not END:
            items.append(item)
        return items

    def sequence_iterator(self, of: Sequence, reverse: bool = False) -> Any:
        return SequenceIterator(of, 0, reverse)

    def list_iterator(self, items: list[Any]) -> Any:
        return ListIterator(items)

    def mapping_iterator(self, of: Dict, what: str) -> Any:
        return DictIterator(of, what, list(of.load(self)))

    # ---- dictionaries from outside

    def dict_entries(self, of: Dict) -> dict[Any, tuple[Any, Any]]:
        """All entries of a dict that came from outside; its keys are guarded."""
        real, source = of.backing, of.source
        keys = list(dict.keys(real))
        if self.is_restless(source, len(keys)):
            raise self.restless(source)
        self.guards.add(source, "keys", tuple(keys))
        if issubclass(type(real), collections.OrderedDict):
            keys = _own_order(real)
            if len(keys) > 1:
                self.guards.add(source, "truth", _SameOrder(keys))
        entries: dict[Any, tuple[Any, Any]] = {}
        for i, key in enumerate(keys):
            variable = self._key_variable(key, source, i)
            at = variable.hash_key(self)
            known = of.entries.get(at)
            if known is None:
                known = (variable, Lazy(dict.__getitem__(real, key), item_source(of, key)))
            entries[at] = known
        return entries

    def _key_variable(self, key: Any, source: Source, i: int) -> Any:
        if is_literal(key):
            return Constant(key)
        return self.wrap(key, self.pinned(key))

    def dict_entry(self, of: Dict, key: Any, at: Any) -> Any:
        """One entry of a dict that came from outside, or None; only this key is guarded."""
        real, source = of.backing, of.source
        if not key.is_constant() or not is_literal(key.constant()):
            of.load(self)
            return of.entries.get(at)
        name = key.constant()
        if name in dict.keys(real):
            return (key, Lazy(dict.__getitem__(real, name), item_source(of, name)))
        if at not in of.absent:
            self.guards.add(source, "no_key", name)
            of.absent.add(at)
        return None

    def dicts_equal(self, left: Dict, right: Any) -> Any:
        """`left == right`; between two OrderedDicts the order counts too."""
        right = getattr(right, "storage", None) or right
        if not isinstance(right, Dict):
            return Constant(NotImplemented)
        if len(left.load(self)) != len(right.load(self)):
            return Constant(False)
        for key in left.keys(self):
            other = right.get(self, key)
            if other is None or not self.same_or_equal(left.get(self, key), other):
                return Constant(False)
        ordered = left.kind is right.kind is collections.OrderedDict
        return Constant(not ordered or list(left.entries) == list(right.entries))

    def is_mapping(self, value: Any) -> bool:
        if isinstance(value, Dict):
            return True
        return hasattr(value.python_type(), "keys") and hasattr(value.python_type(), "__getitem__")

    def dict_pairs(self, value: Any) -> list[tuple[Any, Any]]:
        """(key, value) pairs of a mapping or of an iterable of pairs, as dict() takes them."""
        if isinstance(value, Dict):
            values = value.values(self)
            return list(zip(value.keys(self), values))
        if isinstance(value, Object) and isinstance(value.storage, Dict):
            if self.type_lookup(value.cls, "keys") in (dict.keys, MISSING) or not isinstance(
                self.type_lookup(value.cls, "keys"), type(_noop)
            ):
                return self.dict_pairs(value.storage)
        if self.is_mapping(value):
            keys = self.elements(self.call_method(value, "keys"))
            return [(k, self.getitem(value, k)) for k in keys]
        return [tuple(self.unpack_exactly(p, 2)) for p in self.elements(value)]


def _own_order(of: collections.OrderedDict[Any, Any]) -> list[Any]:
    """The keys in their order; Break if somebody has changed it as if it were a plain dict."""
    try:
        keys = list(collections.OrderedDict.__iter__(of))
        if len(keys) == dict.__len__(of) and all(key in dict.keys(of) for key in keys):
            return keys
    except (KeyError, RuntimeError):
        pass
    what = "an OrderedDict that was changed as a dict"
    raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=what) from None


class _SameOrder:
    """A predicate for guards: an OrderedDict with its keys in this order."""

    __slots__ = ("__name__", "keys")

    def __init__(self, keys: list[Any]) -> None:
        self.keys = keys
        self.__name__ = "same_order"

    def __call__(self, of: Any) -> bool:
        order = collections.OrderedDict.__iter__(of)
        return all(a is b or a == b for a, b in zip(order, self.keys, strict=True))


def _noop() -> None: ...
