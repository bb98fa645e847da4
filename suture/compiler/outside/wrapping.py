"""From real values to abstract ones, with the guards that make that true at the next call."""

from __future__ import annotations

import collections
import enum
import types
import typing
import weakref
from typing import Any

import torch

from suture import _core, config
from suture._core import UNBOUND
from suture.breaks import Break, objects, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Held, Trace
from suture.compiler.models import model_of
from suture.compiler.objects import (
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
    MadeClass,
    Module,
    Object,
    Opaque,
    Refused,
    Set,
    Slice,
    Tuple,
    Unknown,
    UnstableText,
    Value,
)
from suture.compiler.objects import cell as cells
from suture.compiler.objects.bound_builtins import BOUND, bound_builtin, is_bound
from suture.compiler.objects.constant import PLAIN_VALUE
from suture.compiler.objects.foldable_calls import acts_for_itself
from suture.compiler.objects.frozen import is_form
from suture.compiler.objects.hook_table import HookTable, is_hook_table
from suture.compiler.objects.lookup import hides_dict, qualname_of, reads_itself
from suture.compiler.objects.ordered_dict import OrderedDict
from suture.compiler.objects.real_iterators import is_builtin_iterator, wrap_iterator
from suture.compiler.objects.sequence import MOST_GUARDED
from suture.compiler.objects.weakref import WeakProxy, WeakReference, shows_target
from suture.compiler.objects.wraps import NAMED_WRAPPERS, WRAPPERS, Wrap, wraps
from suture.compiler.outside.growth import is_unstable
from suture.compiler.outside.identity import is_general, is_long_lived, stays_same
from suture.compiler.outside.inputs import wrap_number
from suture.compiler.outside.made_classes import adopt, is_anew
from suture.compiler.outside.namespaces import move_globals
from suture.compiler.outside.told_members import add_members, has_told_members
from suture.compiler.outside.unread_literals import OF_TYPE, of_type
from suture.runtime.class_shapes import is_named
from suture.runtime.predicates import Equals, SameMembers, is_literal
from suture.runtime.reads import RawItem, is_empty_cell
from suture.runtime.sources import Source, key_text, pinned
from suture.torch_private import operators

_FUNCTION_LIKE = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


@implements(abstract.pinned)
def pin(trace: Trace, obj: object, name: str = "") -> Source:
    found = trace.outside.pins.get(id(obj))
    if found is None:
        name = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", "")  # type: ignore[assignment]
        found = trace.outside.pins[id(obj)] = pinned(obj, str(name) or _described(obj))
        trace.outside.fixed.add(id(found))
    return found


def _described(obj: object) -> str:
    """A name for an object that has none. Sizes are known by the names of their tensors: each has
    its own."""
    return key_text(obj) if isinstance(obj, torch.Tensor) else f"a {type(obj).__name__}"


@implements(abstract.realize)
def realize(trace: Trace, held: Held) -> Value:
    if type(held) is not Lazy:
        return held
    if held.seen is None:
        held.seen = wrap_value(trace, held.value, held.source)
    return held.seen


@implements(abstract.realize_local)
def realize_local(trace: Trace, held: Held | None) -> Value | None:
    if type(held) is not Lazy:
        return held
    if held.value is UNBOUND:
        trace.guards.add(held.source, "unbound")
        return None
    return realize(trace, held)


@implements(abstract.wrap)
def wrap_value(trace: Trace, value: object, source: Source | None) -> Value:
    kind = type(value)
    maker = WRAPPERS.get(kind)
    if maker is _literal:
        return _literal(trace, value, source)
    known = trace.outside.known.get(id(value))
    if known is not None:
        found = known[1]
        if source is not None and found.source is not None and found.source is not source:
            _alias(trace, source, found, value)
        return found
    if maker is None:
        maker = _maker_for(value)
    made = maker(trace, value, source)
    if made.source is not None or source is None:
        trace.outside.known[id(value)] = (value, made)
    return made


def _alias(trace: Trace, source: Source, found: Value, value: object) -> None:
    if abstract.is_fixed(trace, source) and abstract.is_fixed(trace, found.known_source):
        abstract.fix(trace, source, value)
    else:
        trace.guards.add(source, "same", found.source)


@implements(cells.wrap_cell)
def wrap_cell(trace: Trace, cell: types.CellType, source: Source | None) -> Cell:
    known = trace.outside.cells.get(id(cell))
    if known is not None:
        made: Cell = known[1]
        return made
    source = source if source is not None else pin(trace, cell, "a cell")
    try:
        contents: Any = Lazy(cell.cell_contents, source.cell())
    except ValueError:
        contents = None
        trace.guards.add(source, "truth", is_empty_cell)
    made = Cell(contents, source)
    trace.outside.cells[id(cell)] = (cell, made)
    return made


def wrap_code_constant(trace: Trace, value: object) -> Value:
    """A constant of a code object."""
    if isinstance(value, types.CodeType):
        return Builtin(value)
    if type(value) is tuple and not is_literal(value):
        return Tuple([wrap_code_constant(trace, v) for v in value])
    if isinstance(value, slice):  # from 3.14 on
        start, stop, step = map(Constant, (value.start, value.stop, value.step))
        return Slice(start, stop, step, source=pin(trace, value))
    return Constant(value)


def _maker_for(value: Any) -> Wrap:
    kind = type(value)
    if str(kind.__module__).startswith("torch."):
        named = NAMED_WRAPPERS.get(f"{kind.__module__}.{kind.__qualname__}")
        if named is not None:
            return named
    if issubclass(kind, torch.Tensor):
        return _tensor
    if issubclass(kind, enum.Enum):
        return _object if acts_for_itself(kind) else _identical_constant
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


# ---- the makers: fn(trace, real object, source) -> value


def _literal(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        kind = type(value)
        if kind in (int, float):
            symbolic = wrap_number(trace, value, source)
            if symbolic is not None:
                return symbolic
        elif kind is str and is_unstable(trace, source, value, config.recompile_limit - 2):
            trace.guards.add(source, "type", str)
            return UnstableText(value, source)
        if kind in OF_TYPE:
            return of_type(trace, value, source)
        trace.guards.add(source, "equals", value)
    return Constant(value, source)


wraps(
    int, float, bool, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range
)(_literal)


@wraps(torch.dtype, torch.layout, torch.memory_format)
def _identical_constant(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        trace.guards.add(source, "is", value)
    return Constant(value, source)


@wraps(torch.device, torch.finfo, torch.iinfo)
def _torch_constant(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        trace.guards.add(source, "type", type(value))
        trace.guards.add(source, "truth", Equals(value))
    return Constant(value, source)


@wraps(collections.deque)
def _deque(trace: Trace, value: Any, source: Source | None) -> Value:
    source = source if source is not None else pin(trace, value, "a deque")
    trace.guards.add(source, "type", collections.deque)
    trace.guards.add(source.attr("maxlen"), "equals", value.maxlen)
    return GrowingDeque(
        lambda: _deque_items(trace, value, source), len(value), source, value.maxlen
    )


def _deque_items(trace: Trace, value: Any, source: Source) -> list[Any]:
    """What a deque holds, as the builtin type says, whatever its class does."""
    base, cls = collections.deque, type(value)
    line = list(base.__iter__(value))
    if len(line) > MOST_GUARDED:
        raise Break(objects.UNKNOWN_OBJECT, operation="look into", object=f"{len(line)} items")
    length = len if cls.__len__ is base.__len__ else base.__len__
    trace.guards.add(source.call(length), "equals", len(line))
    if cls.__getitem__ is base.__getitem__:
        return [Lazy(v, source.child("getitem", i)) for i, v in enumerate(line)]
    return [Lazy(v, source.call(RawItem(base, i))) for i, v in enumerate(line)]


@wraps(dict, collections.OrderedDict)
def _dict(trace: Trace, value: Any, source: Source | None) -> Any:
    source = source if source is not None else pin(trace, value, "a dict")
    if not abstract.plain_keys(trace, dict.keys(value)):
        return opaque(trace, value, source)
    trace.guards.add(source, "type", type(value))
    owner = abstract.changed_owner(trace, value)
    if owner is not None:
        trace.guards.add(source, "same", owner.known_source.instance_dict())
        return abstract.instance_dict(trace, owner)
    if type(value) is dict:
        made = Dict(None, source, dict, value)
    else:
        made = (HookTable if is_hook_table(value, source) else OrderedDict)(None, source, value)
    move_globals(trace, value, made)
    return made


@wraps(collections.defaultdict)
def _defaultdict(trace: Trace, value: Any, source: Source | None) -> Value:
    source = source if source is not None else pin(trace, value, "a dict")
    trace.guards.add(source, "type", type(value))
    factory = wrap_value(trace, value.default_factory, source.attr("default_factory"))
    return Dict(None, source, type(value), value, factory)


@wraps(set, frozenset)
def _set(trace: Trace, value: object, source: Source | None) -> Value:
    source = source if source is not None else pin(trace, value, "a set")
    trace.guards.add(source, "type", type(value))
    if type(value) is set:
        return GrowingSet(lambda: _members(trace, value, source).entries, len(value), source)
    return _members(trace, value, source)


def _members(trace: Trace, value: Any, source: Source) -> Set:
    if all(is_literal(v) for v in value):
        frozen = frozenset(value)
        if type(value) is frozenset:
            trace.guards.add(source, "equals", frozen)
        else:
            trace.guards.add(source, "truth", Equals(frozen))
        return Set({v: Constant(v) for v in value}, source, type(value))
    trace.guards.add(source.call(len), "equals", len(value))
    made = Set(None, source, type(value))
    if has_told_members(value):
        add_members(trace, made, value, source)
        return made
    trace.guards.add(source, "truth", SameMembers(value))
    for item in value:
        made.add(trace, wrap_value(trace, item, pin(trace, item)))
    return made


@wraps(slice)
def _slice(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        trace.guards.add(source, "type", slice)
    start, stop, step = (
        wrap_value(trace, getattr(value, p), source.attr(p) if source is not None else None)
        for p in ("start", "stop", "step")
    )
    return Slice(start, stop, step, source)


def _weak_proxy(trace: Trace, value: object, source: Source | None) -> Value:
    source = source if source is not None else pin(trace, value, "a weak proxy")
    trace.guards.add(source, "type", type(value))
    return WeakProxy(value, source) if shows_target(value) else Opaque(value, source)


@wraps(weakref.ref)
def _weakref(trace: Trace, value: Any, source: Source | None) -> Value:
    source = source if source is not None else pin(trace, value, "a weakref")
    if abstract.is_fixed(trace, source) or isinstance(value(), torch.Tensor):
        abstract.fix(trace, source, value)
    else:
        trace.guards.add(source, "type", weakref.ref)
    return WeakReference(value, source)


@wraps(types.CellType)
def _cell(trace: Trace, value: Any, source: Source | None) -> Value:
    return wrap_cell(trace, value, source)


@wraps(types.CodeType, _core.Compiled, torch.jit.ScriptFunction)
def _builtin(trace: Trace, value: object, source: Source | None) -> Value:
    if isinstance(value, types.BuiltinFunctionType) and isinstance(
        getattr(value, "__self__", None), torch.Tensor
    ):
        return _bound_tensor_method(trace, value, source)
    if source is not None:
        if type(value) in BOUND and is_bound(value) and model_of(value) is None:
            return bound_builtin(trace, value, source)
        abstract.fix(trace, source, value)
    return Builtin(value, source if source is not None else pin(trace, value))


def _bound_tensor_method(trace: Trace, value: Any, source: Source | None) -> Value:
    from suture.compiler.objects import TensorMethod

    source = source if source is not None else pin(trace, value)
    trace.guards.add(source, "type", type(value))
    trace.guards.add(source.attr("__name__"), "equals", value.__name__)
    owner = wrap_value(trace, value.__self__, source.attr("__self__"))
    made = TensorMethod(owner, value.__name__)
    made.source = source
    return made


def _class(trace: Trace, value: Any, source: Source | None) -> Value:
    if value.__mro__ is None:
        return opaque(trace, value, source)  # its metaclass is about to make it
    if is_anew(trace, value):
        return MadeClass(value, pin(trace, value))
    if source is not None:
        if qualname_of(value).startswith(trace.region.own_names):
            return _class_made_anew(trace, value, source)
        if not is_named(value) and is_unstable(trace, source, id(value), 1):
            return _class_made_anew(trace, value, source)  # by `type(...)` or so
        abstract.fix(trace, source, value)
    return Class(value, source if source is not None else pin(trace, value))


def _class_made_anew(trace: Trace, value: Any, source: Source) -> Value:
    if adopt(trace, value, source):
        return MadeClass(value, source)
    return opaque(trace, value, source)


def _module(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        abstract.fix(trace, source, value)
    return Module(value, source if source is not None else pin(trace, value))


def opaque(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        trace.guards.add(source, "type", type(value))
    return Opaque(value, source if source is not None else pin(trace, value))


def _tensor(trace: Trace, value: torch.Tensor, source: Source | None) -> Value:
    if source is None:
        source = pin(trace, value, "a tensor")
    try:
        return abstract.wrap_tensor(trace, value, source)
    except Break as why:
        trace.guards.add(source, "type", type(value))
        kind, fields = why.type, why.fields
        return Refused(value, source, lambda: Break(kind, **fields))


WRAPPERS[torch.Tensor] = _tensor
WRAPPERS[torch.nn.Parameter] = _tensor


def _object(trace: Trace, value: object, source: Source | None) -> Value:
    source = source if source is not None else pin(trace, value)
    cls = type(value)
    if qualname_of(cls).startswith(trace.region.own_names) or _is_made_anew(trace, source, cls):
        if not adopt(trace, cls, source.type()):
            return Unknown(value, source)  # of a class that is defined anew in each call
    if hides_dict(cls):
        return opaque(trace, value, source)
    if is_long_lived(cls) or abstract.is_fixed(trace, source):
        if (
            source.kind != "const"
            and not is_general(trace, source, value)
            and stays_same(trace, source, value)
        ):
            abstract.fix(trace, source, value)
    trace.guards.add(source, "type", cls)
    made = Object(value, cls, source)
    if issubclass(cls, (int, float, str, bytes, complex)):
        base = next(b for b in PLAIN_VALUE if issubclass(cls, b))
        plain = PLAIN_VALUE[base](value)
        trace.guards.add(source.call(PLAIN_VALUE[base]), "equals", plain)
        made.storage = Constant(plain)
    elif issubclass(cls, (dict, list, tuple, set, frozenset, collections.deque)):
        made.storage = _storage(trace, value, source)
    return made


def _is_made_anew(trace: Trace, source: Source, cls: type) -> bool:
    """Whether what is there has another class in each call, so that a variant for one class would
    not be used again. A break would be an error: then it is looked into."""
    name = qualname_of(cls)
    if "<locals>" not in name or trace.region.whole or source.kind == "const":
        return False
    return bool(trace.region.history.is_made_anew(source.path(), cls, name))


def _storage(trace: Trace, value: Any, source: Source) -> Any:
    """The builtin part of an object whose class derives from a container."""
    cls = type(value)
    base = next((b for b in (dict, list, tuple) if issubclass(cls, b)), None)
    if base is not None and cls.__getitem__ is not base.__getitem__:
        source.stored = base
    if issubclass(cls, collections.defaultdict):
        factory = wrap_value(trace, value.default_factory, source.attr("default_factory"))
        return Dict(None, source, collections.defaultdict, value, factory)
    if issubclass(cls, dict):
        ordered = issubclass(cls, collections.OrderedDict)
        return Dict(None, source, collections.OrderedDict if ordered else dict, value)
    if issubclass(cls, (tuple, list)):
        base = tuple if issubclass(cls, tuple) else list
        trace.guards.add(source, "len", base.__len__(value))
        at = source.index
        if reads_itself(cls):
            at = lambda i: source.call(RawItem(base, i))  # noqa: E731
        items = [Lazy(v, at(i)) for i, v in enumerate(base.__iter__(value))]
        return Tuple(items, source) if base is tuple else List(items, source)
    if issubclass(cls, collections.deque):
        trace.guards.add(source.attr("maxlen"), "equals", value.maxlen)
        return Deque(_deque_items(trace, value, source), source, value.maxlen)
    raise Break(tensors.SUBCLASS, tensor=source.path(), subclass=cls.__name__)
