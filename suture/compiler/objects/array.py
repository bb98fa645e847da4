"""NumPy arrays: a tensor of the graph underneath."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, arrays
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import find_method, method, run_method
from suture.compiler.objects.tensor import Tensor
from suture.runtime.sources import Source

OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "divmod",
]
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")


class Array(Value):
    """A NumPy array, or a NumPy scalar if the tensor behind it has no dimensions and the array was
    made by the program: NumPy gives scalars there. `number`: what a scalar from outside, or one
    compared with another number, is as a number of Python."""

    __slots__ = ("number", "tensor")

    def __init__(self, tensor: Tensor, source: Source | None = None, number: Any = None) -> None:
        super().__init__(source)
        self.tensor = tensor
        self.number = number

    @property
    def is_scalar(self) -> bool:
        return self.number is not None or (self.source is None and self.tensor.value.dim() == 0)

    def python_type(self) -> type:
        import numpy

        return numpy_dtype(self.tensor.value).type if self.is_scalar else numpy.ndarray

    def describe(self) -> str:
        return self.source.path() if self.source is not None else "an array"

    def truth(self, trace: Trace) -> bool | None:
        return None if self.number is None else self.number.truth(trace)

    def hash_key(self, trace: Trace) -> Hashable:
        if self.number is not None:
            return self.number.hash_key(trace)
        if self.is_scalar:
            raise Break(arrays.ARRAY_ATTRIBUTE, attribute="__hash__")
        return abstract.raise_(trace, TypeError, "unhashable type: 'numpy.ndarray'")

    def getattr(self, trace: Trace, name: str) -> Value | None:
        return abstract.array_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise Break(arrays.ARRAY_ATTRIBUTE, attribute=name)

    def call_method(
        self, trace: Trace, name: str, args: list[Any], kwargs: dict[str, Any]
    ) -> Value:
        own = find_method(type(self), name)
        if own is not None:
            return abstract.builtin_method(trace, own, self, name, args, kwargs)
        return abstract.array_method(trace, self, name, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        text = f"{emit.value(self.tensor)}.numpy()"
        return f"{text}[()]" if self.is_scalar else text


@method(Array, "__getitem__")
def array_getitem(self: Array, trace: Trace, key: Value) -> Value:
    return abstract.array_operator(trace, "getitem", self, key)


@method(Array, "__setitem__")
def array_setitem(self: Array, trace: Trace, key: Value, value: Value) -> Value:
    return abstract.array_setitem(trace, self, key, value)


@method(Array, "__len__")
def array_len(self: Array, trace: Trace) -> Value | None:
    if self.is_scalar:
        kind = type_name(self.python_type())
        return abstract.raise_(trace, TypeError, f"object of type '{kind}' has no len()")
    return abstract.tensor_length(trace, self.tensor)


@method(Array, "__iter__")
def array_iter(self: Array, trace: Trace) -> Value | None:
    if self.is_scalar:
        return abstract.raise_(
            trace, TypeError, f"'{type_name(self.python_type())}' object is not iterable"
        )
    count = abstract.integer(trace, abstract.tensor_length(trace, self.tensor))
    return abstract.list_iterator(
        trace, [run_method(trace, self, "__getitem__", Constant(i)) for i in range(count)]
    )


def _operator(name: str, *, swapped: bool = False) -> Any:
    def method(self: Array, trace: Trace, *others: Value) -> Value:
        operands = (*others, self) if swapped else (self, *others)
        return abstract.array_operator(trace, name, *operands)

    return method


for _name in OPERATORS:
    _plain = _name.rstrip("_")
    method(Array, f"__{_plain}__")(_operator(_name))
    method(Array, f"__r{_plain}__")(_operator(_name, swapped=True))
    if _name != "divmod":
        method(Array, f"__i{_plain}__")(_operator(f"i{_plain}"))
for _name in COMPARISONS:
    method(Array, f"__{_name}__")(_operator(_name))
for _name in ("neg", "pos", "abs", "invert"):
    method(Array, f"__{_name}__")(_operator(_name))


class ArrayMethod(Value):
    """A bound method of an array."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Array, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def call(self, trace: Trace, args: list[Any], kwargs: dict[str, Any]) -> Value | None:
        return abstract.tail_call_method(trace, self.owner, self.name, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.{self.name}"


def numpy_dtype(tensor: torch.Tensor) -> Any:
    """The NumPy dtype of the array over a tensor like this."""
    return torch.empty(0, dtype=tensor.dtype).numpy().dtype
