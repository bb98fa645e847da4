"""Iteration, unpacking, dictionaries read from outside."""

from __future__ import annotations

import collections
import operator
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow, objects
from suture.bytecode import language
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.objects import (
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
    Tuple,
    dict_,
    sequence,
)
from suture.compiler.objects.hook_table import HookTable
from suture.compiler.objects.iterator import made_of_changed
from suture.compiler.objects.lookup import reads_itself
from suture.compiler.objects.methods import find_method
from suture.compiler.outside.growth import is_unstable, unstable_value
from suture.compiler.outside.hashes_read import order_was_read
from suture.runtime.predicates import SameKeyOrder, is_literal
from suture.runtime.reads import RawItem
from suture.runtime.sources import Source


def item_source(of: Dict, key: Any) -> Source:
    """Where an item of a real dict is read."""
    source: Source = of.known_source
    return source.call(RawItem(dict, key)) if reads_itself(type(of.backing)) else source.item(key)


@implements(abstract.iterate)
def _iterate(trace: Trace, value: Value) -> Value:
    own = find_method(type(value), "__iter__")
    if own is not None:
        return own(value, trace)
    cls = value.python_type()
    if abstract.type_lookup(trace, cls, "__iter__") is MISSING:
        return abstract.raise_(trace, TypeError, f"'{type_name(cls)}' object is not iterable")
    if _is_c_iterator(trace, cls):
        return value
    raise Break(control_flow.UNKNOWN_ITERATOR, iterator=value.describe())


@implements(abstract.iterate, Iterator, Generator)
def _iterate_iterator(trace: Trace, value: Value) -> Value:
    return value


@implements(abstract.iterate, Object)
def _iterate_object(trace: Trace, value: Object) -> Value:
    own = find_method(type(value), "__iter__")
    if own is not None:
        return own(value, trace)
    makes = abstract.type_lookup(trace, value.cls, "__iter__")
    if isinstance(value.storage, Constant) and not isinstance(makes, types.FunctionType):
        return abstract.iterate(trace, value.storage)
    if makes is MISSING:
        if abstract.type_lookup(trace, value.cls, "__getitem__") is not MISSING:
            return IndexIterator(value)
        text = f"'{type_name(value.cls)}' object is not iterable"
        return abstract.raise_(trace, TypeError, text)
    return value if _is_c_iterator(trace, value.cls) else _made_iterator(trace, value)


@implements(abstract.iterate, Class)
def _iterate_class(trace: Trace, value: Class) -> Value:
    meta = value.python_type()
    if abstract.type_lookup(trace, meta, "__iter__") is MISSING:
        return abstract.raise_(trace, TypeError, f"'{type_name(meta)}' object is not iterable")
    return value if _is_c_iterator(trace, meta) else _made_iterator(trace, value)


def _is_c_iterator(trace: Trace, cls: type) -> bool:
    """An iterator in C that suture did not make: its own iterator, which Python moves."""
    makes, moves = (
        abstract.type_lookup(trace, cls, "__iter__"),
        abstract.type_lookup(trace, cls, "__next__"),
    )
    return isinstance(makes, types.WrapperDescriptorType) and isinstance(
        moves, types.WrapperDescriptorType
    )


def _made_iterator(trace: Trace, value: Value) -> Value:
    """What the program's own __iter__ gives."""
    made = abstract.finish(trace, abstract.call_type_method(trace, value, "__iter__", [], {}))
    if not hasattr(made.python_type(), "__next__"):
        text = language.wrong_result(value.python_type(), "__iter__", made.python_type())
        return abstract.raise_(trace, TypeError, text)
    return made


@implements(abstract.iterate, Constant)
def _iterate_constant(trace: Trace, value: Constant) -> Value:
    real = value.constant()
    if type(real) is range:
        return RangeIterator(real)
    if find_in_mro(type(real), "__iter__") is MISSING:  # a metaclass may have one for the class
        text = f"'{type_name(type(real))}' object is not iterable"
        return abstract.raise_(trace, TypeError, text)
    if isinstance(real, frozenset):
        order_was_read(trace, real)
    items = [abstract.known(trace, v) for v in real]
    return CalledIterator(items, type(iter(real)), iter, [real])


@implements(abstract.advance)
def _advance(trace: Trace, iterator: Value) -> Value:
    raise Break(control_flow.UNKNOWN_ITERATOR, iterator=iterator.describe())


@implements(abstract.advance, Iterator, Generator)
def _advance_iterator(trace: Trace, iterator: Any) -> Value:
    element: Value = iterator.advance(trace)
    return element


@implements(abstract.advance, Object)
def _advance_object(trace: Trace, iterator: Object) -> Value:
    try:
        made = abstract.call_type_method(trace, iterator, "__next__", [], {})
        return abstract.finish(trace, made)
    except Raised as raised:
        if issubclass(raised.exception.python_type(), StopIteration):
            return END
        raise


def elements_of(trace: Trace, value: Value, asked: bool = False) -> list[Any]:
    """All elements of an iterable; `asked` where its length is asked for first."""
    if isinstance(value, DictView) and isinstance(value.of, HookTable) and value.what != "keys":
        pairs = value.of.in_order(trace)
        if pairs is not None:
            found = [(key, abstract.realize(trace, hook)) for key, hook in pairs]
            return [Tuple(list(pair)) if value.what == "items" else pair[1] for pair in found]
    if isinstance(value, Sequence):
        return list(value.unpacked(trace))
    iterator = abstract.iterate(trace, value)
    if asked:
        abstract.ask_length(trace, value)
    if isinstance(iterator, (Iterator, Generator)):
        return iterator.remaining(trace)
    out = []
    while (item := abstract.advance(trace, iterator)) is not END:
        out.append(item)
    return out


@implements(abstract.unpack)
def unpack_values(trace: Trace, value: Value, asked: bool = False) -> list[Any]:
    return elements_of(trace, value, asked)


@implements(abstract.ask_length)
def _ask_nobody(trace: Trace, value: object) -> None:
    """Nobody sees that a builtin type is asked."""


@implements(abstract.ask_length, Object)
def _ask_length(trace: Trace, value: Object) -> None:
    for name in ("__len__", "__length_hint__"):
        if isinstance(abstract.type_lookup(trace, value.cls, name), types.FunctionType):
            abstract.call(trace, abstract.wrap(trace, operator.length_hint, None), [value], {})
            return


@implements(abstract.is_settled)
def is_settled(trace: Trace, value: object) -> bool:
    return False


@implements(abstract.is_settled, Sequence, Constant, Dict, Set, DictView, Tensor)
def _is_settled(trace: Trace, value: object) -> bool:
    return True


@implements(abstract.is_settled, Object)
def _object_is_settled(trace: Trace, value: Object) -> bool:
    if not isinstance(value.storage, Sequence):
        return False
    return not isinstance(abstract.type_lookup(trace, value.cls, "__iter__"), types.FunctionType)


@implements(abstract.each)
def each_item(trace: Trace, value: Any) -> Any:
    iterator = abstract.iterate(trace, value)
    while (item := abstract.advance(trace, iterator)) is not END:
        yield item


def unpack_exactly(trace: Trace, value: Value, count: int) -> list[Any]:
    """`a, b = value`."""
    if isinstance(value, Tensor):
        items = abstract.tensor_rows(trace, value)
    else:
        items = _first(trace, value, count)
    if len(items) < count:
        abstract.raise_(
            trace, ValueError, f"not enough values to unpack (expected {count}, got {len(items)})"
        )
    if len(items) > count:
        abstract.raise_(trace, ValueError, f"too many values to unpack (expected {count})")
    return items


def refuse_unpacking(trace: Trace, value: Value) -> None:
    """Raise what unpacking raises for an object that cannot be iterated over."""
    cls = value.python_type()
    if all(find_in_mro(cls, name) is MISSING for name in ("__iter__", "__getitem__")):
        abstract.raise_(trace, TypeError, f"cannot unpack non-iterable {cls.__name__} object")


def _first(trace: Trace, value: Value, count: int) -> list[Any]:
    refuse_unpacking(trace, value)
    if isinstance(value, (Sequence, Constant, Dict, Set, DictView)):
        return elements_of(trace, value)
    iterator = abstract.iterate(trace, value)
    items = []  # type: ignore[var-annotated]
    while len(items) <= count and (item := abstract.advance(trace, iterator)) is not END:
        items.append(item)
    return items


@implements(sequence.sequence_iterator)
def sequence_iterator(trace: Trace, of: Sequence, reverse: bool = False) -> Value:
    return SequenceIterator(of, 0, reverse)


@implements(abstract.list_iterator)
def list_iterator(trace: Trace, items: list[Any]) -> Value:
    return ListIterator(items)


@implements(abstract.mapping_iterator)
def mapping_iterator(trace: Trace, of: Dict, what: str) -> Value:
    keys = list(of.load(trace))
    return DictIterator(of, what, keys, position=made_of_changed(trace, of))


# ---- dictionaries from outside


@implements(dict_.dict_entries)
def dict_entries(trace: Trace, of: Dict) -> dict[Any, tuple[Any, Any]]:
    real, source = of.backing, of.known_source
    keys = list(dict.keys(real))
    if is_unstable(trace, source, len(keys)):
        raise unstable_value(trace, source)
    trace.guards.add(source, "keys", tuple(keys))
    if issubclass(type(real), collections.OrderedDict):
        keys = _own_order(real)
        if len(keys) > 1:
            trace.guards.add(source, "truth", SameKeyOrder(keys))
    entries: dict[Any, tuple[Any, Any]] = {}
    for i, key in enumerate(keys):
        variable = _key_variable(trace, key, source, i)
        at = variable.hash_key(trace)
        known = of.entries.get(at)
        if known is None:
            known = (variable, Lazy(dict.__getitem__(real, key), item_source(of, key)))
        entries[at] = known
    return entries


def _key_variable(trace: Trace, key: object, source: Source, i: int) -> Any:
    if is_literal(key):
        return Constant(key)
    return abstract.wrap(trace, key, abstract.pinned(trace, key))


@implements(dict_.dict_entry)
def dict_entry(trace: Trace, of: Dict, key: Value, at: object) -> tuple[Any, Any] | None:
    real, source = of.backing, of.known_source
    if not key.is_constant() or not is_literal(key.constant()):
        of.load(trace)
        if at not in of.entries:
            abstract.keep_apart(trace, key, of.keys(trace))
        return of.entries.get(at)
    name = key.constant()
    if name in dict.keys(real):
        return (key, Lazy(dict.__getitem__(real, name), item_source(of, name)))
    if at not in of.absent:
        trace.guards.add(source, "no_key", name)
        of.absent.add(at)
    return None


@implements(dict_.dicts_equal)
def dicts_equal(trace: Trace, left: Dict, right: Value) -> Value:
    right = getattr(right, "storage", None) or right
    if not isinstance(right, Dict):
        return Constant(NotImplemented)
    if len(left.load(trace)) != len(right.load(trace)):
        return Constant(False)
    for key in left.keys(trace):
        other = right.get(trace, key)
        if other is None or not abstract.same_or_equal(trace, left.get(trace, key), other):
            return Constant(False)
    ordered = left.kind is right.kind is collections.OrderedDict
    return Constant(not ordered or list(left.entries) == list(right.entries))


def is_mapping(trace: Trace, value: Any) -> bool:
    if isinstance(value, Dict):
        return True
    return hasattr(value.python_type(), "keys")  # whether it has items, reading one will tell


@implements(abstract.dict_pairs)
def _dict_pairs(trace: Trace, value: Value) -> list[tuple[Any, Any]]:
    if is_mapping(trace, value):
        keys = elements_of(trace, abstract.call_method(trace, value, "keys"))
        return [(k, abstract.getitem(trace, value, k)) for k in keys]
    return [tuple(unpack_exactly(trace, p, 2)) for p in elements_of(trace, value)]


@implements(abstract.dict_pairs, Dict)
def _pairs_of_dict(trace: Trace, value: Dict) -> list[tuple[Any, Any]]:
    values = value.values(trace)
    return list(zip(value.keys(trace), values))


@implements(abstract.dict_pairs, Object)
def _pairs_of_object(trace: Trace, value: Object) -> list[tuple[Any, Any]]:
    """CPython looks into a dict whose class iterates as dicts do, whatever its methods are; others
    it asks for their keys and items."""
    if isinstance(value.storage, Dict):
        if abstract.type_lookup(trace, value.cls, "__iter__") is dict.__iter__:
            return abstract.dict_pairs(trace, value.storage)
        asked = [abstract.type_lookup(trace, value.cls, name) for name in ("keys", "__getitem__")]
        if not any(isinstance(method, types.FunctionType) for method in asked):
            return abstract.dict_pairs(trace, value.storage)
    return _dict_pairs(trace, value)


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
