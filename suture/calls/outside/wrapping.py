"""From real values to abstract ones, with the guards that make that true at the next call."""

from __future__ import annotations

import collections
import enum
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import torch

from suture import _core, config
from suture._core import UNBOUND
from suture.breaks import Break, objects, readable, tensors
from suture.calls.language.real_iterators import is_builtin_iterator, wrap_iterator
from suture.calls.objects.bound_builtins import BOUND, bound_builtin, is_bound
from suture.calls.outside.instances import RawItem, hides_dict, qualname_of, reads_itself
from suture.calls.part import Part
from suture.calls.table import handler_of
from suture.sources import Source, pinned
from suture.torch_private import operators
from suture.variables import (
    Builtin,
    Cell,
    Class,
    Constant,
    Deque,
    Dict,
    GrowingDeque,
    GrowingSet,
    Lazy,
    List,
    Module,
    Object,
    Opaque,
    Refused,
    Restless,
    Set,
    Slice,
    Tuple,
    Unknown,
    Variable,
    is_literal,
)
from suture.variables.constant import PLAIN_VALUE
from suture.variables.frozen import is_form
from suture.variables.sequence import MOST_GUARDED
from suture.variables.weakrefs import WeakProxy, WeakReference, shows_target

Wrap = Callable[[Any, Any, Any], Variable]
WRAPPERS: dict[type, Wrap] = {}

_FUNCTION_LIKE = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def wraps(*kinds: type) -> Callable[[Wrap], Wrap]:
    """Register how objects of exactly these types become variables."""

    def register(fn: Wrap) -> Wrap:
        for kind in kinds:
            WRAPPERS[kind] = fn
        return fn

    return register


class Wrapping(Part):
    """The part of the tracer that turns real values into variables."""

    guards: Any
    history: Any
    _known: dict[int, tuple[Any, Any]]
    _pins: dict[int, Source]
    _fixed: set[int]
    _cells: dict[int, tuple[Any, Cell]]

    def pinned(self, obj: Any, name: str = "") -> Source:
        """The source of an object that is held by the variant itself."""
        found = self._pins.get(id(obj))
        if found is None:
            name = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", "")  # type: ignore[assignment]
            found = self._pins[id(obj)] = pinned(obj, str(name) or f"a {type(obj).__name__}")
            self._fixed.add(id(found))
        return found

    def realize(self, lazy: Any) -> Any:
        """Look at a value inside a container, or in a local: None if that is unbound."""
        if type(lazy) is not Lazy:
            return lazy
        if lazy.value is UNBOUND:
            self.guards.add(lazy.source, "unbound")
            return None
        return self.wrap(lazy.value, lazy.source)

    def wrap(self, value: Any, source: Source | None) -> Any:
        """The variable of `value`. The same object always gives the same variable."""
        kind = type(value)
        maker = WRAPPERS.get(kind)
        if maker is _literal:
            return _literal(self, value, source)
        known = self._known.get(id(value))
        if known is not None:
            found = known[1]
            if source is not None and found.source is not None and found.source is not source:
                self._alias(source, found, value)
            return found
        if maker is None:
            maker = _maker_for(value)
        made = maker(self, value, source)
        if made.source is not None or source is None:
            self._known[id(value)] = (value, made)
        return made

    def _alias(self, source: Source, found: Any, value: Any) -> None:
        if self.is_fixed(source) and self.is_fixed(found.source):
            self.guards.add(source, "is", value)
        else:
            self.guards.add(source, "same", found.source)

    def wrap_cell(self, cell: types.CellType, source: Source | None) -> Cell:
        """The variable of a closure cell; its contents are looked at when they are read."""
        known = self._cells.get(id(cell))
        if known is not None:
            return known[1]
        source = source if source is not None else self.pinned(cell, "a cell")
        try:
            contents: Any = Lazy(cell.cell_contents, source.cell())
        except ValueError:
            contents = None
            self.guards.add(source, "truth", is_empty_cell)
        made = Cell(contents, source)
        self._cells[id(cell)] = (cell, made)
        return made

    def wrap_code_constant(self, value: Any) -> Any:
        """A constant of a code object."""
        if isinstance(value, types.CodeType):
            return Builtin(value)
        if type(value) is tuple and not is_literal(value):
            return Tuple([self.wrap_code_constant(v) for v in value])
        return Constant(value)


def is_empty_cell(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _maker_for(value: Any) -> Wrap:
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        return _tensor
    if issubclass(kind, enum.Enum):
        return _identical_constant
    if hasattr(kind, "__members__") and str(kind.__module__).startswith("torch"):
        return _identical_constant  # an enum of pybind11
    if issubclass(kind, type):
        return _class
    if issubclass(kind, types.ModuleType):
        return _module
    if issubclass(kind, _FUNCTION_LIKE):
        return _builtin
    if issubclass(kind, (operators.OpOverload, operators.OpOverloadPacket)):
        return _builtin
    if issubclass(kind, (operators.HigherOrderOperator,)):
        return _builtin
    if issubclass(kind, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return opaque
    if is_builtin_iterator(value):
        return wrap_iterator
    if is_form(value):
        return WRAPPERS[typing.TypeVar]
    if issubclass(kind, (types.CoroutineType, types.AsyncGeneratorType)):
        return opaque
    if issubclass(kind, (super, types.GenericAlias)):
        return opaque  # its attributes are those of another object
    if issubclass(kind, weakref.ProxyTypes):
        return _weak_proxy
    if kind.__module__ == "builtins" and kind.__name__.endswith(("iterator", "generator")):
        return opaque
    return _object


# ---- the makers: fn(tx, value, source) -> variable


def _literal(tx: Any, value: Any, source: Any) -> Any:
    if source is not None:
        kind = type(value)
        if kind in (int, float):
            symbolic = tx.wrap_number(value, source)
            if symbolic is not None:
                return symbolic
        elif kind is str and tx.is_restless(source, value, config.recompile_limit - 2):
            tx.guards.add(source, "type", str)
            return Restless(value, source)
        tx.guards.add(source, "equals", value)
    return Constant(value, source)


wraps(
    int, float, bool, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range
)(_literal)


@wraps(torch.dtype, torch.layout, torch.memory_format)
def _identical_constant(tx: Any, value: Any, source: Any) -> Any:
    if source is not None:
        tx.guards.add(source, "is", value)
    return Constant(value, source)


@wraps(torch.device, torch.finfo, torch.iinfo)
def _torch_constant(tx: Any, value: Any, source: Any) -> Any:
    if source is not None:
        tx.guards.add(source, "type", type(value))
        tx.guards.add(source, "truth", Equals(value))
    return Constant(value, source)


class Equals:
    """A predicate for guards: equal to a value that C does not know."""

    __slots__ = ("__name__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.__name__ = f"equals {readable(value, 80)}"

    def __call__(self, other: Any) -> bool:
        return bool(self.value == other)


@wraps(collections.deque)
def _deque(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a deque")
    tx.guards.add(source, "type", collections.deque)
    tx.guards.add(source.attr("maxlen"), "equals", value.maxlen)
    return GrowingDeque(lambda: _deque_items(tx, value, source), len(value), source, value.maxlen)


def _deque_items(tx: Any, value: Any, source: Any) -> list[Any]:
    if len(value) > MOST_GUARDED:
        raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=f"{len(value)} items")
    tx.guards.add(source.call(len), "equals", len(value))
    return [Lazy(v, source.child("getitem", i)) for i, v in enumerate(value)]


@wraps(dict, collections.OrderedDict)
def _dict(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a dict")
    if not tx.plain_keys(dict.keys(value)):
        return opaque(tx, value, source)
    tx.guards.add(source, "type", type(value))
    owner = tx.changed_owner(value)
    if owner is not None:
        tx.guards.add(source, "same", owner.source.instance_dict())
        return tx.instance_dict(owner)
    made = Dict(None, source, type(value), value)
    tx.move_globals(value, made)
    return made


@wraps(collections.defaultdict)
def _defaultdict(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a dict")
    tx.guards.add(source, "type", type(value))
    factory = tx.wrap(value.default_factory, source.attr("default_factory"))
    return Dict(None, source, type(value), value, factory)


@wraps(set, frozenset)
def _set(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a set")
    tx.guards.add(source, "type", type(value))
    if type(value) is set:
        return GrowingSet(lambda: _members(tx, value, source).entries, len(value), source)
    return _members(tx, value, source)


def _members(tx: Any, value: Any, source: Any) -> Set:
    if all(is_literal(v) for v in value):
        frozen = frozenset(value)
        if type(value) is frozenset:
            tx.guards.add(source, "equals", frozen)
        else:
            tx.guards.add(source, "truth", Equals(frozen))
        return Set({v: Constant(v) for v in value}, source, type(value))
    tx.guards.add(source.call(len), "equals", len(value))
    tx.guards.add(source, "truth", _SameMembers(value))
    made = Set(None, source, type(value))
    for item in value:
        made.add(tx, tx.wrap(item, tx.pinned(item)))
    return made


class _SameMembers:
    """A predicate for guards: a set with exactly these objects."""

    __slots__ = ("__name__", "members")

    def __init__(self, members: Any) -> None:
        self.members = list(members)
        self.__name__ = "same_members"

    def __call__(self, other: Any) -> bool:
        return {id(m) for m in self.members} == {id(m) for m in other}


@wraps(slice)
def _slice(tx: Any, value: Any, source: Any) -> Any:
    if source is not None:
        tx.guards.add(source, "type", slice)
    parts = [
        tx.wrap(getattr(value, p), source.attr(p) if source is not None else None)
        for p in ("start", "stop", "step")
    ]
    return Slice(*parts, source=source)  # type: ignore[misc]


def _weak_proxy(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a weak proxy")
    tx.guards.add(source, "type", type(value))
    return WeakProxy(value, source) if shows_target(value) else Opaque(value, source)


@wraps(weakref.ref)
def _weakref(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value, "a weakref")
    if tx.is_fixed(source) or isinstance(value(), torch.Tensor):
        tx.fix(source, value)
    else:
        tx.guards.add(source, "type", weakref.ref)
    return WeakReference(value, source)


@wraps(types.CellType)
def _cell(tx: Any, value: Any, source: Any) -> Any:
    return tx.wrap_cell(value, source)


@wraps(types.CodeType, _core.Compiled, torch.jit.ScriptFunction)
def _builtin(tx: Any, value: Any, source: Any) -> Any:
    if isinstance(value, types.BuiltinFunctionType) and isinstance(
        getattr(value, "__self__", None), torch.Tensor
    ):
        return _bound_tensor_method(tx, value, source)
    if source is not None:
        if type(value) in BOUND and is_bound(value) and handler_of(value) is None:
            return bound_builtin(tx, value, source)
        tx.fix(source, value)
    return Builtin(value, source if source is not None else tx.pinned(value))


def _bound_tensor_method(tx: Any, value: Any, source: Any) -> Any:
    from suture.variables import TensorMethod

    source = source if source is not None else tx.pinned(value)
    tx.guards.add(source, "type", type(value))
    tx.guards.add(source.attr("__name__"), "equals", value.__name__)
    owner = tx.wrap(value.__self__, source.attr("__self__"))
    return TensorMethod(owner, value.__name__)


def _class(tx: Any, value: Any, source: Any) -> Any:
    if value.__mro__ is None:
        return opaque(tx, value, source)  # its metaclass is about to make it
    if source is not None:
        if qualname_of(value).startswith(tx.own_names):
            return opaque(tx, value, source)  # defined anew in each call
        tx.fix(source, value)
    return Class(value, source if source is not None else tx.pinned(value))


def _module(tx: Any, value: Any, source: Any) -> Any:
    if source is not None:
        tx.fix(source, value)
    return Module(value, source if source is not None else tx.pinned(value))


def opaque(tx: Any, value: Any, source: Any) -> Any:
    if source is not None:
        tx.guards.add(source, "type", type(value))
    return Opaque(value, source if source is not None else tx.pinned(value))


def _tensor(tx: Any, value: Any, source: Any) -> Any:
    if source is None:
        source = tx.pinned(value, "a tensor")
    try:
        return tx.wrap_tensor(value, source)
    except Break as why:
        tx.guards.add(source, "type", type(value))
        kind, fields = why.type, why.fields
        return Refused(value, source, lambda: Break(kind, **fields))


WRAPPERS[torch.Tensor] = _tensor
WRAPPERS[torch.nn.Parameter] = _tensor


def _object(tx: Any, value: Any, source: Any) -> Any:
    source = source if source is not None else tx.pinned(value)
    cls = type(value)
    if qualname_of(cls).startswith(tx.own_names):
        return Unknown(value, source)  # of a class that is defined anew in each call
    if hides_dict(cls):
        return opaque(tx, value, source)
    if issubclass(cls, torch.nn.Module) or tx.is_fixed(source):
        if source.kind != "const" and not tx.is_general(source, value) and tx.stays(source, value):
            tx.fix(source, value)
    tx.guards.add(source, "type", cls)
    made = Object(value, cls, source)
    if issubclass(cls, (int, float, str, bytes, complex)):
        base = next(b for b in PLAIN_VALUE if issubclass(cls, b))
        plain = PLAIN_VALUE[base](value)
        tx.guards.add(source.call(PLAIN_VALUE[base]), "equals", plain)
        made.storage = Constant(plain)
    elif issubclass(cls, (dict, list, tuple, set, frozenset, collections.deque)):
        made.storage = _storage(tx, value, source)
    return made


def _storage(tx: Any, value: Any, source: Any) -> Any:
    """The builtin part of an object whose class derives from a container."""
    cls = type(value)
    base = next((b for b in (dict, list, tuple) if issubclass(cls, b)), None)
    if base is not None and cls.__getitem__ is not base.__getitem__:
        source.stored = base
    if issubclass(cls, collections.defaultdict):
        factory = tx.wrap(value.default_factory, source.attr("default_factory"))
        return Dict(None, source, collections.defaultdict, value, factory)
    if issubclass(cls, dict):
        ordered = issubclass(cls, collections.OrderedDict)
        return Dict(None, source, collections.OrderedDict if ordered else dict, value)
    if issubclass(cls, (tuple, list)):
        base = tuple if issubclass(cls, tuple) else list
        tx.guards.add(source, "len", base.__len__(value))
        at = source.index
        if reads_itself(cls):
            at = lambda i: source.call(RawItem(base, i))  # noqa: E731
        items = [Lazy(v, at(i)) for i, v in enumerate(base.__iter__(value))]
        return Tuple(items, source) if base is tuple else List(items, source)
    if issubclass(cls, collections.deque):
        line = collections.deque(collections.deque.__iter__(value))  # whatever its class says
        tx.guards.add(source.attr("maxlen"), "equals", value.maxlen)
        return Deque(_deque_items(tx, line, source), source, value.maxlen)
    raise Break(tensors.SUBCLASS, tensor=source.path(), subclass=cls.__name__)
