"""NumPy arrays: a tensor of the graph underneath."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, arrays
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.made_by_python import MadeByPython
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
    compared with another number, is as a number of Python. `is_view`: the program made an array
    over memory that is there already, which is an array with no dimensions as well."""

    __slots__ = ("is_view", "number", "tensor")

    def __init__(
        self,
        tensor: Tensor,
        source: Source | None = None,
        number: Value | None = None,
        is_view: bool = False,
    ) -> None:
        super().__init__(source)
        self.tensor = tensor
        self.number = number
        self.is_view = is_view

    @property
    def is_scalar(self) -> bool:
        if self.number is not None:
            return True
        return self.source is None and not self.is_view and self.tensor.value.dim() == 0

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

    def getattr(self, trace: Trace, name: str) -> Value:
        return array_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        array_set_attribute(trace, self, name, value)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        own = find_method(type(self), name)
        if own is not None:
            return abstract.builtin_method(trace, own, self, name, args, kwargs)
        return array_method(trace, self, name, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        position = left_to_numpy(self.tensor)
        if position is not None:
            raise MadeByPython(position, "a view that NumPy gives")
        text = f"{emit.value(self.tensor)}.numpy()"
        return f"{text}[()]" if self.is_scalar else text


@method(Array, "__getitem__")
def array_getitem(self: Array, trace: Trace, key: Value) -> Value | None:
    return array_operator(trace, "getitem", self, key)


@method(Array, "__setitem__")
def array_setitem(self: Array, trace: Trace, key: Value, value: Value) -> Value:
    if self.is_scalar:
        kind = type_name(self.python_type())
        text = f"'{kind}' object does not support item assignment"
        return abstract.raise_(trace, TypeError, text)
    return array_store(trace, self, key, value)


@method(Array, "__len__")
def array_len(self: Array, trace: Trace) -> Value:
    if self.is_scalar:
        kind = type_name(self.python_type())
        return abstract.raise_(trace, TypeError, f"object of type '{kind}' has no len()")
    if self.tensor.value.dim() == 0:
        return abstract.raise_(trace, TypeError, "len() of unsized object")
    return abstract.tensor_length(trace, self.tensor)


@method(Array, "__iter__")
def array_iter(self: Array, trace: Trace) -> Value:
    if self.is_scalar:
        return abstract.raise_(
            trace, TypeError, f"'{type_name(self.python_type())}' object is not iterable"
        )
    if self.tensor.value.dim() == 0:
        return abstract.raise_(trace, TypeError, "iteration over a 0-d array")
    count = abstract.integer(trace, abstract.tensor_length(trace, self.tensor))
    return abstract.list_iterator(
        trace, [run_method(trace, self, "__getitem__", Constant(i)) for i in range(count)]
    )


def _operator(name: str, *, swapped: bool = False) -> Any:
    def method(self: Array, trace: Trace, *others: Value) -> Value | None:
        operands = (*others, self) if swapped else (self, *others)
        return array_operator(trace, name, *operands)

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


def numpy_dtype(tensor: torch.Tensor) -> Any:
    """The NumPy dtype of the array over a tensor like this."""
    return torch.empty(0, dtype=tensor.dtype).numpy().dtype


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def array_attribute(trace: Trace, array: Array, name: str) -> Value:
    """`array.name`: a fact of its dtype and shape, a view as a node, or a method."""


@declared
def array_set_attribute(trace: Trace, array: Array, name: str, value: Value) -> None:
    """`array.name = value`: its elements, all at once; Break for the rest, such as its shape."""


@declared
def array_method(
    trace: Trace, array: Array, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`array.name(...)` as a node over its tensor; Break where NumPy alone can do it."""


@declared
def array_operator(trace: Trace, name: str, *operands: Value) -> Value | None:
    """An operator with an array among its operands, as a node with the dtype that NumPy would give;
    None if the operands are not for the graph."""


@declared
def array_store(trace: Trace, array: Value, key: Value, value: Value) -> Value:
    """`array[key] = value` as a node; gives None as the program sees it. Break for arrays from
    outside, which may share memory."""


@declared
def call_numpy(
    trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A function of NumPy: its result as an array of the graph, or folded; None if it has nothing
    to do with arrays."""


@declared
def left_to_numpy(tensor: Tensor) -> Any:
    """Where the array over a tensor was made, if it is a view only to NumPy, or one that may not be
    written; else None."""


@declared
def number_in(trace: Trace, array: Value) -> Value:
    """A scalar of NumPy as the number of Python that it holds."""
