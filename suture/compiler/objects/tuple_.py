"""tuple and torch.Size."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, cast

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Held, Lazy, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import method
from suture.compiler.objects.sequence import Sequence, proxy_of, sequence_getitem, sequence_mul
from suture.compiler.objects.slice_ import Slice


class Tuple(Sequence):
    """A tuple, or torch.Size when `kind` says so."""

    __slots__ = ()
    kind: type = tuple

    def touch(self, trace: Trace) -> None:  # tuples do not change; never called
        super().touch(trace)

    def is_constant(self) -> bool:
        return all(type(i) is not Lazy and i.is_constant() for i in self.items)

    def constant(self) -> Any:
        return tuple(cast(Value, i).constant() for i in self.items)

    def hash_key(self, trace: Trace) -> Hashable:
        return tuple(i.hash_key(trace) for i in self.unpacked(trace))

    def identity(self) -> Hashable:
        empty = not self.items and self.source is None and type(self) is Tuple
        return Constant(()).identity() if empty else super().identity()

    def _is_made(self) -> bool:
        """Whether it is a plain tuple of the region: all of it, or once it, is itself."""
        return type(self) is Tuple and self.source is None

    def made_like(self, items: Iterable[Held]) -> Tuple:
        return Tuple(items)

    def rebuild(self, emit: Emitter) -> str:
        if not self.items:
            return "()"
        inner = ", ".join(emit.value(i) for i in self.items)
        return f"({inner},)"


@method(Tuple, "__getitem__")
def tuple_getitem(self: Tuple, trace: Trace, key: Value) -> Value:
    found = sequence_getitem(self, trace, key)
    whole = self._is_made() and isinstance(found, Tuple) and found.items == self.items
    return self if whole and isinstance(abstract.builtin_part(trace, key), Slice) else found


@method(Tuple, "__mul__", "__rmul__")
def tuple_mul(self: Tuple, trace: Trace, times: Value) -> Value:
    made = sequence_mul(self, trace, times)
    once = self._is_made() and isinstance(made, Tuple) and abstract.integer(trace, times) == 1
    return self if once else made


@method(Tuple, "__hash__")
def tuple_hash(self: Tuple, trace: Trace) -> Value:
    return Constant(hash(tuple(abstract.constant_value(trace, i) for i in self.unpacked(trace))))


class Size(Tuple):
    """torch.Size: the shape of a tensor."""

    __slots__ = ()

    @property
    def kind(self) -> type:  # type: ignore[override]
        import torch

        return torch.Size

    def constant(self) -> Any:
        return self.kind(super().constant())

    def made_like(self, items: Iterable[Held]) -> Size:
        return Size(items)

    def as_proxy(self) -> Any:
        return tuple(proxy_of(i) for i in self.items)

    def _joined(self, trace: Trace, other: Value, join: Any) -> Value:
        other = abstract.builtin_part(trace, other)
        if not isinstance(other, Tuple):
            return Constant(NotImplemented)
        items = other.unpacked(trace)
        if any(item.python_type() is not int for item in items):
            raise Break(objects.UNKNOWN_OPERATOR, operator="+", operands="a torch.Size")
        return Size(join(items))

    def rebuild(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(i) for i in self.items)
        return f"{emit.constant(self.kind, 'Size')}([{inner}])"


@method(Size, "__add__")
def size_add(self: Size, trace: Trace, other: Value) -> Value:
    return self._joined(trace, other, lambda items: self.items + items)


@method(Size, "__radd__")
def size_radd(self: Size, trace: Trace, other: Value) -> Value:
    return self._joined(trace, other, lambda items: items + self.items)


@method(Size, "__getitem__")
def size_getitem(self: Size, trace: Trace, key: Value) -> Value:
    where = abstract.index_of(trace, key, len(self.items), "tuple")
    return Size(self.items[where]) if isinstance(where, slice) else self.at(trace, where)


@method(Size, "numel")
def size_numel(self: Size, trace: Trace) -> Value:
    total: Value = Constant(1)
    for item in self.unpacked(trace):
        total = abstract.binary(trace, "mul", total, item)
    return total
