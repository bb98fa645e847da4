"""`array.flat`: the elements of an array one after the other, whatever its shape."""

from __future__ import annotations

from suture.breaks import Break, arrays
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import array as operations
from suture.compiler.objects.array import Array
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.list_ import List
from suture.compiler.objects.methods import find_method, method
from suture.compiler.objects.slice_ import Slice


class Flat(Value):
    """The view of an array that has no shape. Iterating over it is Python's."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        super().__init__(None)
        self.array = array

    def python_type(self) -> type:
        import numpy

        return numpy.flatiter

    def describe(self) -> str:
        return f"{self.array.describe()}.flat"

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "base":
            return self.array
        raise _unknown()

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        own = find_method(Flat, name)
        if own is None:
            raise _unknown()
        return abstract.builtin_method(trace, own, self, name, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.array)}.flat"


def _unknown() -> Break:
    return Break(arrays.ARRAY_ATTRIBUTE, attribute="flat")


def _in_line(self: Flat, trace: Trace, key: Value) -> Value:
    """All elements as an array of one dimension; Break for a key of another kind than it takes."""
    whole = isinstance(key, Constant) and type(key.value) is int
    if not whole and not isinstance(key, (Slice, List)):
        raise _unknown()
    return operations.array_method(trace, self.array, "ravel", [], {})


def _is_number(value: Value) -> bool:
    if isinstance(value, Array):
        return value.is_scalar
    return isinstance(value, Constant) and type(value.value) in (bool, int, float)


@method(Flat, "__getitem__")
def flat_getitem(self: Flat, trace: Trace, key: Value) -> Value:
    picked = operations.array_operator(trace, "getitem", _in_line(self, trace, key), key)
    if not isinstance(picked, Array):
        raise _unknown()
    return picked if picked.is_scalar else operations.array_method(trace, picked, "copy", [], {})


@method(Flat, "__setitem__")
def flat_setitem(self: Flat, trace: Trace, key: Value, value: Value) -> Value:
    """Several numbers would be taken again and again until all places are filled: Python's."""
    if not _is_number(value) or not self.array.tensor.value.is_contiguous():
        raise _unknown()
    return operations.array_store(trace, _in_line(self, trace, key), key, value)


@method(Flat, "__len__")
def flat_len(self: Flat, trace: Trace) -> Value:
    return abstract.tensor_method(trace, self.array.tensor, "numel", [], {})


def set_flat(trace: Trace, array: Array, value: Value) -> None:
    """`array.flat = value`."""
    if not _is_number(value) or array.is_scalar:
        raise _unknown()
    operations.array_store(trace, array, Constant(Ellipsis), value)
