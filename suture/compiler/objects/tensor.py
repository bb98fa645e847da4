"""Tensors and symbolic numbers: values that live in the graph."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch
import torch.fx

from suture._core import type_name
from suture.breaks import Break, NodeText, objects, tensors
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import type_of_bound
from suture.runtime.sources import Source

# Properties of a tensor that its fake counterpart knows exactly.
KNOWN_PROPERTIES = frozenset(
    [
        "dtype",
        "device",
        "layout",
        "ndim",
        "is_cuda",
        "is_cpu",
        "is_meta",
        "is_sparse",
        "is_quantized",
        "is_leaf",
        "requires_grad",
        "is_complex",
        "is_floating_point",
        "itemsize",
        "is_mkldnn",
        "is_xpu",
        "is_mps",
        "is_nested",
        "is_sparse_csr",
        "is_mtia",
        "is_vulkan",
        "is_ipu",
        "is_maia",
        "is_xla",
        "names",
        "retains_grad",
    ]
)
# Methods without effect whose result is a Python value.
KNOWN_METHODS = frozenset(
    [
        "dim",
        "ndimension",
        "element_size",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "get_device",
        "is_contiguous",
        "is_conj",
        "is_neg",
        "is_inference",
        "has_names",
        "is_same_size",
        "type_",
        "is_distributed",
        "is_pinned",
        "dense_dim",
        "sparse_dim",
    ]
)


class GraphValue(Value):
    """A value computed by the graph. `node` makes it, `value` is its fake counterpart."""

    __slots__ = ("node", "value")

    def __init__(self, node: torch.fx.Node, value: Any, source: Source | None = None) -> None:
        self.source = source
        self.node = node
        self.value = value

    def as_proxy(self) -> Any:
        return self.node

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.graph_output(self))


_MADE_BY_GRAPHS = (torch.Tensor, torch.nn.Parameter)


class Tensor(GraphValue):
    """A tensor. Inputs have a source; the others are results of the graph.

    `cls` is the class of the real tensor (torch.Tensor, Parameter, a subclass).
    """

    __slots__ = ("attrs", "cls", "example")

    def __init__(
        self,
        node: Any,
        value: Any,
        source: Source | None = None,
        cls: type = torch.Tensor,
        example: Any = None,
    ) -> None:
        super().__init__(node, value, source)
        self.cls = cls
        self.attrs: dict[str, Value] | None = None  # Python attributes set while tracing
        self.example = example  # the real tensor, of inputs

    def python_type(self) -> type:
        return self.cls

    def real(self) -> Any:
        if self.example is None:
            raise LookupError
        return self.example

    def hash_key(self, trace: Trace) -> Hashable:
        return self.identity()

    def describe(self) -> str:
        if self.source is not None:
            return self.source.path()
        return NodeText(f"the tensor {self.node.name}") if self.node is not None else "a tensor"

    def truth(self, trace: Trace) -> bool | None:
        overridden = (
            abstract.special_override(trace, self, "__bool__", [])
            if trace.modes.overridable_seen
            else None
        )
        if overridden is not None:
            return abstract.truth(trace, overridden)
        number = abstract.known_number(trace, self)
        return current_truth(trace, self) if number is None else bool(number)

    def rebuild(self, emit: Emitter) -> str:
        name = str(emit.graph_output(self))
        if self.cls not in _MADE_BY_GRAPHS and type(self.value) is not self.cls:
            cast = emit.constant(torch.Tensor.as_subclass, "as_subclass")
            name = str(
                emit.begin(self, f"{cast}({name}, {emit.constant(self.cls, self.cls.__name__)})")
            )
        if self.attrs:
            emit.named(self, name)
            self.write_back(emit, name)
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        """Set the Python attributes that the program has set."""
        for attr, value in (self.attrs or {}).items():
            emit.line(f"{name}.{attr} = {emit.value(value)}")

    def getattr(self, trace: Trace, name: str) -> Value:
        return tensor_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        tensor_set_attribute(trace, self, name, value)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        return tensor_call_method(trace, self, name, args, kwargs)


class Symbol(GraphValue):
    """A symbolic int, float or bool (torch.SymInt, SymFloat, SymBool)."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        return abstract.specialise(trace, self)

    def python_type(self) -> type:
        return symbol_type(self.value)

    def describe(self) -> str:
        return self.source.path() if self.source is not None else f"the number {self.value}"

    def truth(self, trace: Trace) -> bool | None:
        return symbol_truth(trace, self)

    def hash_key(self, trace: Trace) -> Hashable:
        number: Hashable = abstract.specialise(trace, self)
        return number

    def getattr(self, trace: Trace, name: str) -> Value:
        kind = self.python_type()
        if (name == "real" and kind is not bool) or (name == "numerator" and kind is int):
            return self
        if name == "denominator" and kind is int:
            return Constant(1)
        if name == "imag":
            return Constant(kind(0))
        if name == "__class__":
            return abstract.wrap(trace, kind, None)
        if not hasattr(kind(), name):
            return abstract.raise_(
                trace, AttributeError, f"'{type_name(kind)}' object has no attribute '{name}'"
            )
        if not callable(getattr(kind(), name)):
            return Constant(getattr(kind(abstract.specialise(trace, self)), name))
        return BoundMethod(self, name)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        return symbol_method(trace, self, name, args, kwargs)


def known_tensor(value: Value) -> Tensor:
    """A result that is a tensor, as the caller knows."""
    assert isinstance(value, Tensor), f"{value.describe()} is no tensor"
    return value


class TensorMethod(BoundMethod):
    """A bound method of a tensor, such as `x.add`."""

    __slots__ = ()

    def python_type(self) -> type:
        return type_of_bound(torch.Tensor, self.name)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.tensor_method(trace, self.owner, self.name, args, kwargs)

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return Constant(self.name)
        if name == "__func__":
            return abstract.wrap(trace, getattr(torch.Tensor, self.name), None)
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=f"the method {self.name}", attribute=name)


class BaseMethod(TensorMethod):
    """A method as torch._C.TensorBase has it: one node, past what torch.Tensor does around it."""

    __slots__ = ()

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        assert isinstance(self.owner, Tensor)
        return base_method(trace, self.owner, self.name, args, kwargs)


def symbol_type(value: object) -> type:
    """The Python type a symbolic number has at run time."""
    if isinstance(value, torch.SymInt):
        return int
    if isinstance(value, torch.SymFloat):
        return float
    if isinstance(value, torch.SymBool):
        return bool
    raise Break(tensors.FAKE_FAILED, operator="symbolic number", error=type(value).__name__)


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def tensor_call_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`tensor.name(...)`: the program's own function, where it has set one in the class."""


@declared
def tensor_attribute(trace: Trace, tensor: Tensor, name: str) -> Value:
    """`tensor.name`: what its class overrides, a fact of the fake tensor, a node, or a method."""


@declared
def base_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`super().name(...)`: the method that torch's C class has."""


@declared
def symbol_method(
    trace: Trace, symbol: Symbol, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a symbolic number: a symbol, or folded on its value."""


@declared
def current_truth(trace: Trace, condition: Value) -> bool | None:
    """The truth of a condition that depends on module state alone, as it is now, to be checked when
    the variant runs; None if it depends on more."""


@declared
def symbol_truth(trace: Trace, symbol: Value) -> bool:
    """The truth of a symbol now, guarded to stay that; Break if it comes from data."""


@declared
def tensor_set_attribute(trace: Trace, tensor: Value, name: str, value: Value) -> None:
    """`tensor.name = value`: data and grad by their setters, others kept with the value."""
