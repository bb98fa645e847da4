"""Hashing: what stands for an object among the keys of a dict or the members of a set."""

from __future__ import annotations

import builtins
import types
from collections.abc import Hashable
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, calls, objects
from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace
from suture.compiler.objects import (
    Builtin,
    Class,
    Constant,
    Function,
    Object,
    Tuple,
    Value,
    instance,
)
from suture.compiler.outside.hashes_read import hash_was_read
from suture.runtime.reads import is_empty_cell


class HashKey:
    """Stands for an object whose class says itself how it hashes and compares."""

    __slots__ = ("of", "trace", "value")

    def __init__(self, trace: Trace, of: Value, value: int) -> None:
        self.trace = trace
        self.of = of
        self.value = value

    def __hash__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HashKey):
            return bool(abstract.same_or_equal(self.trace, self.of, other.of))
        if isinstance(other, Value):
            return False
        if str(type(other).__module__).startswith("suture."):  # an identity: never equal to a value
            return False
        return bool(abstract.same_or_equal(self.trace, self.of, Constant(other)))


def as_hash(number: int) -> int:
    """The hash of an object whose __hash__ gives `number`: that itself, where C can hold it."""
    return hash(Hashed(int(number)))


class Hashed:
    """Something with a given hash, to let Python hash a tuple of such."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number


@implements(abstract.hash_of)
def hash_of(trace: Trace, value: Value) -> Value:
    if value.is_constant():
        return abstract.fold(trace, hash, [value], {})
    raw = _hasher(trace, value)
    if raw is not object.__hash__:
        raise Break(calls.C_FUNCTION, function="hash")
    return _hash_by_identity(trace, value)


def _hasher(trace: Trace, value: Value) -> Any:
    """The `__hash__` of a value's class; TypeError of the program if that is None."""
    cls = value.python_type()
    raw = abstract.type_lookup(trace, cls, "__hash__")
    if raw is None:
        abstract.raise_(trace, TypeError, f"unhashable type: '{type_name(cls)}'")
    return raw


def _hash_by_identity(trace: Trace, value: Value) -> Value:
    """The hash of a real object, which stays while a guard keeps the object the same."""
    if value.source is None or getattr(value, "changed", False):
        raise Break(calls.C_FUNCTION, function="hash")
    try:
        real = value.real()
    except LookupError:
        raise Break(calls.C_FUNCTION, function="hash") from None
    if value.source.kind != "const":
        abstract.fix(trace, value.source, real)
    hash_was_read(trace, real)
    return Constant(hash(real))


@implements(abstract.hash_of, Class, Builtin, Function)
def _hash_of_callable(trace: Trace, value: Value) -> Value:
    _hasher(trace, value)
    return _hash_by_identity(trace, value)


@implements(abstract.hash_of, Tuple)
def _hash_of_tuple(trace: Trace, value: Tuple) -> Value:
    if value.is_constant():
        return abstract.fold(trace, hash, [value], {})
    items = [
        abstract.constant_value(trace, abstract.hash_of(trace, i)) for i in value.unpacked(trace)
    ]
    return Constant(hash(tuple(map(Hashed, items))))


@implements(abstract.hash_of, Object)
def _hash_of_object(trace: Trace, value: Object) -> Value:
    raw = _hasher(trace, value)
    if isinstance(raw, types.FunctionType):
        given = abstract.finish(trace, abstract.call_type_method(trace, value, "__hash__", [], {}))
        if not issubclass(given.python_type(), int):
            return abstract.raise_(trace, TypeError, "__hash__ method should return an integer")
        return Constant(as_hash(abstract.constant_value(trace, given)))
    if isinstance(value.storage, (Constant, Tuple)):
        return abstract.hash_of(trace, value.storage)
    if raw is not object.__hash__:
        raise Break(calls.C_FUNCTION, function="hash")
    return _hash_by_identity(trace, value)


@implements(instance.object_hash_key)
def object_hash_key(trace: Trace, obj: Object) -> Hashable:
    raw = abstract.type_lookup(trace, obj.cls, "__hash__")
    if raw is None:
        return abstract.raise_(trace, TypeError, f"unhashable type: '{type_name(obj.cls)}'")
    compares = abstract.type_lookup(trace, obj.cls, "__eq__")
    if raw is object.__hash__ and compares is object.__eq__:
        return obj.identity()
    own = isinstance(raw, types.FunctionType) or isinstance(compares, types.FunctionType)
    if own or raw is object.__hash__:
        return _traced_key(trace, obj, raw)
    if obj.storage is not None:
        key: Hashable = obj.storage.hash_key(trace)
        return key
    if obj.value is not None and not obj.attrs and _is_c_class(obj.cls):
        real: Hashable = obj.value
        return real
    raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())


def _traced_key(trace: Trace, obj: Object, raw: object) -> HashKey:
    if raw is object.__hash__:
        raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())
    for name in ("__hash__", "__eq__"):
        method = abstract.type_lookup(trace, obj.cls, name)
        if isinstance(method, types.FunctionType) and not _may_run_again(method):
            raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())
    if isinstance(raw, types.FunctionType):
        result = abstract.finish(trace, abstract.call_type_method(trace, obj, "__hash__", [], {}))
    else:
        result = abstract.hash_of(trace, obj)
    if not result.is_constant() or not isinstance(result.constant(), int):
        if result.is_constant():
            abstract.raise_(trace, TypeError, "__hash__ method should return an integer")
        raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())
    return HashKey(trace, obj, as_hash(result.constant()))


@implements(abstract.plain_keys)
def plain_keys(trace: Trace, keys: Any) -> bool:
    return all(_plain_kind(kind) for kind in {type(k) for k in keys})


def _may_run_again(method: types.FunctionType) -> bool:
    """Whether nobody sees how often a method runs: a container that is made real hashes and
    compares its keys once more. It changes nothing, and reads no variable but its arguments."""
    names = set()
    for inst in decode(method.__code__).instructions:
        if inst.op in _CHANGES:
            return False
        if inst.op == "LOAD_GLOBAL" and inst.val not in vars(builtins):
            names.add(inst.val)
    outside = [method.__globals__.get(name) for name in names]
    for cell in method.__closure__ or ():
        outside.append(None if is_empty_cell(cell) else cell.cell_contents)
    return all(isinstance(v, (type, types.FunctionType, types.ModuleType)) for v in outside)


_CHANGES = frozenset(
    {"STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR", "DELETE_ATTR", "DELETE_SUBSCR",
     "DELETE_GLOBAL", "DELETE_DEREF"}
)  # fmt: skip


def _is_c_class(cls: type) -> bool:
    return all(base.__flags__ & (1 << 9) == 0 for base in cls.__mro__)


def _plain_kind(kind: type) -> bool:
    """Whether keys of this class hash and compare without the program's code. A tensor is told from
    others by its identity, before anything is compared."""
    if kind in (torch.Tensor, torch.nn.Parameter):
        return True
    hasher, equal = kind.__hash__, kind.__eq__
    return not (isinstance(hasher, types.FunctionType) or isinstance(equal, types.FunctionType))
