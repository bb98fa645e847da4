"""Hashing: what stands for an object among the keys of a dict or the members of a set."""

from __future__ import annotations

import builtins
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, calls, objects
from suture.bytecode import decode
from suture.calls.outside.wrapping import is_empty_cell
from suture.calls.part import Part
from suture.variables import Builtin, Class, Constant, Function, Object, Tuple, Variable


class HashKey:
    """Stands for an object whose class says itself how it hashes and compares."""

    __slots__ = ("of", "tx", "value")

    def __init__(self, tx: Any, of: Variable, value: int) -> None:
        self.tx = tx
        self.of = of
        self.value = value

    def __hash__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HashKey):
            return bool(self.tx.same_or_equal(self.of, other.of))
        if isinstance(other, Variable):
            return False
        if str(type(other).__module__).startswith("suture."):  # an identity: never equal to a value
            return False
        return bool(self.tx.same_or_equal(self.of, Constant(other)))


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


class Hashing(Part):
    """The part of the tracer that hashes objects."""

    def hash_of(self, value: Any) -> Any:
        """`hash(value)`, for what is known well enough."""
        if value.is_constant():
            return self.fold(hash, [value], {})
        if isinstance(value, Tuple):
            known = [Hashed(self.constant_value(self.hash_of(i))) for i in value.unpacked(self)]
            return Constant(hash(tuple(known)))
        cls = value.python_type()
        raw = self.type_lookup(cls, "__hash__")
        if raw is None:
            return self.raise_(TypeError, f"unhashable type: '{type_name(cls)}'")
        if isinstance(value, Object) and isinstance(raw, types.FunctionType):
            told = self.finish(self.call_type_method(value, "__hash__", [], {}))
            if not issubclass(told.python_type(), int):
                return self.raise_(TypeError, "__hash__ method should return an integer")
            return told if not told.is_constant() else Constant(as_hash(told.constant()))
        if isinstance(value, Object) and isinstance(value.storage, (Constant, Tuple)):
            return self.hash_of(value.storage)
        held = value.source is not None and not getattr(value, "changed", False)
        by_identity = raw is object.__hash__ or isinstance(value, (Class, Builtin, Function))
        if not held or not by_identity or not hasattr(value, "real"):
            raise Break(calls.C_FUNCTION, function="hash")
        real = value.real()
        if value.source.kind != "const":
            self.fix(value.source, real)
        return Constant(hash(real))

    def object_hash_key(self, obj: Object) -> Any:
        """Something hashable that compares as the object does."""
        raw = self.type_lookup(obj.cls, "__hash__")
        if raw is None:
            return self.raise_(TypeError, f"unhashable type: '{type_name(obj.cls)}'")
        plain = self.type_lookup(obj.cls, "__eq__") is object.__eq__
        if raw is object.__hash__ and plain:
            return obj.identity()
        if isinstance(raw, types.FunctionType) or raw is object.__hash__:
            return self._traced_key(obj, raw)
        if obj.storage is not None:
            return obj.storage.hash_key(self)
        if obj.value is not None and not obj.attrs and _is_c_class(obj.cls):
            return obj.value
        raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())

    def _traced_key(self, obj: Object, raw: Any) -> HashKey:
        if raw is object.__hash__:
            raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())
        for name in ("__hash__", "__eq__"):
            method = self.type_lookup(obj.cls, name)
            if isinstance(method, types.FunctionType) and not _may_run_again(method):
                raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())
        result = self.finish(self.call_type_method(obj, "__hash__", [], {}))
        if not result.is_constant() or not isinstance(result.constant(), int):
            if result.is_constant():
                self.raise_(TypeError, "__hash__ method should return an integer")
            raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=obj.describe())
        return HashKey(self, obj, as_hash(result.constant()))

    def plain_keys(self, keys: Any) -> bool:
        """Whether looking up these real keys runs no code of the program."""
        return all(_plain_kind(kind) for kind in {type(k) for k in keys})


def _may_run_again(method: types.FunctionType) -> bool:
    """Whether nobody sees how often a method runs: a container that is made real hashes and
    compares its keys once more. It changes nothing, and reads no variable but its arguments."""
    names = set()
    for inst in decode(method.__code__).instructions:
        if inst.op in _CHANGES:
            return False
        if inst.op == "LOAD_GLOBAL" and not hasattr(builtins, inst.val):
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
    hasher, equal = kind.__hash__, kind.__eq__
    return not (isinstance(hasher, types.FunctionType) or isinstance(equal, types.FunctionType))
