"""Functions by which sources reach what no attribute or item leads to.

Guards call them at each call, and a warm process finds them by their names: they stand here and not
in the compiler.
"""

from __future__ import annotations

import collections
import ctypes
import gc
import itertools
import sys
import types
import warnings
import weakref
from typing import Any

import torch

from suture.torch_private import tensor_parts


def storage_of(tensor: Any) -> Any:
    """The memory of a tensor: one object for all its views."""
    return tensor.untyped_storage()


def bytes_behind(tensor: Any) -> int:
    """How large the memory of a tensor is."""
    return int(tensor.untyped_storage().nbytes())


def offset_of(tensor: Any) -> int:
    """Where in its memory a tensor begins."""
    return int(tensor.storage_offset())


def number_in(tensor: torch.Tensor) -> Any:
    """What guards and checks read of a tensor of one number: where it is in memory, if that can
    be known without an operation of torch. None of a tensor that has more or none now."""
    if tensor.numel() != 1:
        return None
    kind = _IN_MEMORY.get(tensor.dtype)
    if kind is None or type(tensor) is not torch.Tensor or tensor_parts.is_view(tensor):
        return tensor.item()
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return tensor.item()
    return kind.from_address(tensor.data_ptr()).value


_IN_MEMORY: dict[torch.dtype, Any] = {
    torch.bool: ctypes.c_bool,
    torch.uint8: ctypes.c_uint8,
    torch.int8: ctypes.c_int8,
    torch.int16: ctypes.c_int16,
    torch.int32: ctypes.c_int32,
    torch.int64: ctypes.c_int64,
    torch.float32: ctypes.c_float,
    torch.float64: ctypes.c_double,
}


def tensor_over(array: Any) -> torch.Tensor:
    """A tensor over the memory of an array, also of one that may not be written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(array)


def first_byte(value: Any) -> int:
    """Where the memory of a tensor or an array begins."""
    return int(_memory_of(value).data_ptr())


def last_byte(value: Any) -> int:
    """Where the memory of a tensor or an array ends; before its beginning if there is none."""
    memory = _memory_of(value)
    return int(memory.data_ptr() + memory.nbytes() - 1)


def _memory_of(value: Any) -> Any:
    tensor = value if isinstance(value, torch.Tensor) else tensor_over(value)
    return tensor.untyped_storage()


def tensor_of_scalar(scalar: Any) -> torch.Tensor:
    """A tensor with the number in a scalar of numpy, which is imported then."""
    import numpy

    return torch.from_numpy(numpy.asarray(scalar))


def number_in_scalar(scalar: Any) -> Any:
    """The number of Python that a scalar of numpy holds."""
    return scalar.item()


def members_in_order(of: set[Any] | frozenset[Any]) -> list[Any]:
    """The members of a set in the order of its table."""
    return list(of)


def dereferenced(reference: weakref.ref[Any]) -> Any:
    """What a weak reference refers to; None if that is gone."""
    return reference()


def behind_proxy(proxy: Any) -> Any:
    """What a weak proxy refers to, which any of its methods knows; None if that is gone."""
    try:
        return proxy.__str__.__self__
    except ReferenceError:
        return None


def mapping_behind(proxy: Any) -> Any:
    """The mapping that a view shows."""
    return gc.get_referents(proxy)[0]


def unbound(value: Any) -> Any:
    """The descriptor that was bound to make this method of an object; None if nobody knows."""
    owner, name = value.__self__, value.__name__
    for base in type(owner).__mro__:
        raw = base.__dict__.get(name)
        if isinstance(raw, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            if raw.__get__(owner, type(owner)) == value:
                return raw
    return None


def is_empty_cell(cell: Any) -> bool:
    """Whether a variable of a closure was not set yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def current_exception(_: Any = None) -> Any:
    """The exception that is handled where the variant was called."""
    return sys.exc_info()[1]


class RawItem:
    """Reads an item of a container, whatever the program's class of it does."""

    __slots__ = ("__name__", "base", "key")

    def __init__(self, base: type, key: Any) -> None:
        self.base = base
        self.key = key
        self.__name__ = f"item {key!r} of"

    def __call__(self, container: Any) -> Any:
        read: Any = vars(self.base)["__getitem__"]
        return read(container, self.key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RawItem) or type(other.key) is not type(self.key):
            return False
        return self.base is other.base and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash((RawItem, self.key))

    def parts(self) -> tuple[Any, ...]:
        """What it is made of."""
        return self.base, self.key

    @classmethod
    def remade(cls, *parts: Any) -> RawItem:
        """The same from its parts."""
        return cls(*parts)


class TextOf:
    """The text of a number between two others: `f"layer_{number}"`. `how` is a builtin ("format",
    "str", "repr", "ascii") with what it is `given` besides, or "percent" with its directive."""

    __slots__ = ("__name__", "after", "before", "given", "how")

    def __init__(self, before: str, how: str, given: tuple[str, ...], after: str) -> None:
        self.before, self.how, self.given, self.after = before, how, given, after
        self.__name__ = "the text of"

    def __call__(self, number: int) -> str:
        if self.how == "percent":
            text = self.given[0] % (number,)
        else:
            text = _TEXTS[self.how](number, *self.given)
        return f"{self.before}{text}{self.after}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextOf) and other.parts() == self.parts()

    def __hash__(self) -> int:
        return hash((TextOf, self.parts()))

    def parts(self) -> tuple[Any, ...]:
        """What it is made of."""
        return self.before, self.how, self.given, self.after

    @classmethod
    def remade(cls, *parts: Any) -> TextOf:
        """The same from its parts."""
        return cls(*parts)


_TEXTS: dict[str, Any] = {"format": format, "str": str, "repr": repr, "ascii": ascii}


class Asked:
    """Reads a setting: what a function says of some arguments."""

    __slots__ = ("__name__", "fn", "given")

    def __init__(self, fn: Any, *given: Any) -> None:
        self.fn = fn
        self.given = given
        self.__name__ = f"{fn.__name__}({', '.join(map(repr, given))})"

    def __call__(self) -> Any:
        return self.fn(*self.given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked) and other.parts() == self.parts()

    def __hash__(self) -> int:
        return hash((Asked, self.given))

    def parts(self) -> tuple[Any, ...]:
        """What it is made of."""
        return (self.fn, *self.given)

    @classmethod
    def remade(cls, *parts: Any) -> Asked:
        """The reader made of these parts."""
        return cls(*parts)


class NthHook:
    """Reads a hook of a module, or its number, by its place in the order in which hooks run; None
    if there are not so many."""

    __slots__ = ("__name__", "number", "place")

    def __init__(self, place: int, number: bool) -> None:
        self.place = place
        self.number = number
        self.__name__ = f"{'the number of ' * number}hook {place} of"

    def __call__(self, table: Any) -> Any:
        found = _IN_ORDER[self.number](table)
        return next(itertools.islice(found, self.place, None), None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NthHook) and other.parts() == self.parts()

    def __hash__(self) -> int:
        return hash((NthHook, self.place, self.number))

    def parts(self) -> tuple[Any, ...]:
        """What it is made of."""
        return self.place, self.number

    @classmethod
    def remade(cls, *parts: Any) -> NthHook:
        """The reader made of these parts."""
        return cls(*parts)


_IN_ORDER = (collections.OrderedDict.values, collections.OrderedDict.__iter__)


def plain_bytes(value: bytes) -> bytes:
    """An object of a class that derives from bytes, as bytes alone."""
    return bytes.__getitem__(value, slice(None))


def as_double(value: float) -> torch.Tensor:
    """A float as a tensor, exactly, whatever the default device and dtype are."""
    return torch.scalar_tensor(value, dtype=torch.float64, device=_CPU)


_CPU = torch.device("cpu")
