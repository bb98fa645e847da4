"""id() of an object: a number that is asked for far more often than looked at."""

from __future__ import annotations

import types
from collections.abc import Hashable
from typing import Any

from suture.breaks import Break, builtin_calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter


class Address(Value):
    """`id(owner)`. Equal to another exactly if both belong to the same object; the number itself
    is read only where it is used as one."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        super().__init__(None)
        self.owner = owner

    def as_constant(self, trace: Trace) -> Any:
        return self.number(trace)

    def python_type(self) -> type:
        return int

    def truth(self, trace: Trace) -> bool | None:
        return True

    def hash_key(self, trace: Trace) -> Hashable:
        return AddressKey(self.owner.identity())

    def number(self, trace: Trace) -> int:
        """The number, good for as long as the very same object comes in."""
        owner = self.owner
        try:
            if owner.source is None and owner.is_constant():
                raise LookupError  # which object it will be is not known
            if owner.python_type() is types.MethodType:
                raise LookupError  # it is made anew wherever it is read
            real = owner.real()
        except LookupError:
            raise Break(builtin_calls.ID_OF_NEW, object=owner.describe()) from None
        if self.owner.source is not None:
            abstract.fix(trace, self.owner.source, real)
        return id(real)

    def describe(self) -> str:
        return f"id({self.owner.describe()})"

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.constant(id, 'id')}({emit.value(self.owner)})"


_LOWEST = 1 << 16  # no object lies below


def may_be_id(at: Any) -> bool:
    """Whether a key is a number that may be somebody's id, or holds one."""
    if type(at) is tuple:
        return any(map(may_be_id, at))
    return type(at) is int and at >= _LOWEST


def is_address_key(at: Any) -> bool:
    """Whether a key stands for the id of an object, or holds such a key."""
    return type(at) is AddressKey or (type(at) is tuple and any(map(is_address_key, at)))


class AddressKey:
    """A dict key that stands for the id of one object."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddressKey) and bool(other.of == self.of)

    def __hash__(self) -> int:
        return hash((AddressKey, self.of))
