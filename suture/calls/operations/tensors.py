"""Operations on tensors: nodes of the graph."""

from __future__ import annotations

import enum
import inspect
import operator
import types
from typing import Any

import torch

from suture import config
from suture.breaks import (
    Break,
    calls,
    objects,
    subclasses,
    tensor_methods,
    tensors,
)
from suture.calls.language.operators import COMPARE, IN_PLACE
from suture.calls.objects.attributes import MISSING
from suture.calls.operations.constructors import holds_tensor
from suture.calls.operations.missing_kernels import no_fake_kernel
from suture.calls.operations.outputs import refuse_resize
from suture.calls.operations.records import record_proxy
from suture.calls.operations.tensor_methods import METHODS, set_attribute
from suture.calls.part import Part
from suture.calls.tensor_classes.subclasses import PLAIN
from suture.calls.tensor_classes.wrappers import base_call
from suture.graph import OpFailed
from suture.torch_private import autograd_parts, operators, tensor_parts
from suture.torch_private.tensor_parts import is_traceable_wrapper_subclass
from suture.variables import (
    Constant,
    Dict,
    GraphValue,
    List,
    Object,
    Size,
    Symbol,
    Tensor,
    TensorMethod,
    Tuple,
    Variable,
    is_literal,
)
from suture.variables.arrays import Array
from suture.variables.struct_tuple import StructTuple
from suture.variables.tensor import KNOWN_METHODS, KNOWN_PROPERTIES, BaseMethod

# Properties that compute: one node each.
_COMPUTED = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_NUMBERS = {
    "item": None,
    "__int__": int,
    "__float__": float,
    "__bool__": bool,
    "__index__": int,
    "__complex__": complex,
}


class Tensors(Part):
    """The part of the tracer that builds the graph."""

    def is_tensor(self, variable: Any) -> bool:
        return isinstance(variable, Tensor)

    # ---- nodes

    def call_torch(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """One node that calls `target`."""
        return self.add_node("call_function", target, args, kwargs)

    def add_node(self, op: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if "requires_grad" in kwargs and self.makes_leaf(target, kwargs["requires_grad"]):
            return self.make_leaf(op, target, args, kwargs)
        if "out" in kwargs:
            refuse_resize(self, op, target, args, kwargs)
        flat = tuple(self.proxy(a) for a in args)
        named = {k: self.proxy(v) for k, v in kwargs.items()}
        if op == "call_method" and self.graph.quiet and self.hides_method(args[0], target):
            op, target, flat = "call_function", base_call, (target, *flat)
        try:
            node, value = self.graph.call(op, target, flat, named)
        except OpFailed as failed:
            raise self.op_failure(failed, target) from failed.cause
        return self.with_class(self.from_graph(node, value, args, kwargs), args, kwargs)

    def fake_result(self, op: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a node would give, on fake tensors; nothing is added to the graph."""
        flat = tuple(self.proxy(a) for a in args)
        named = {k: self.proxy(v) for k, v in kwargs.items()}
        try:
            return self.graph.run_fake(op, target, flat, named)
        except OpFailed as failed:
            raise self.op_failure(failed, target) from failed.cause

    def proxy(self, variable: Any) -> Any:
        """A variable as an argument of a node."""
        if isinstance(variable, (GraphValue, Constant)):
            return variable.as_proxy()
        if isinstance(variable, (List, Tuple)):
            items = [self.proxy(i) for i in variable.unpacked(self)]
            return items if isinstance(variable, List) else tuple(items)
        return self.proxy_other(variable)

    def proxy_other(self, variable: Any) -> Any:
        if isinstance(variable, Dict):
            return {self.constant_value(k): self.proxy(v) for k, v in self.dict_pairs(variable)}
        record = record_proxy(self, variable) if isinstance(variable, Object) else None
        if record is not None:
            return record
        if isinstance(variable, Object) and isinstance(variable.storage, (List, Tuple)):
            items = [self.proxy(i) for i in variable.storage.unpacked(self)]
            return tuple(items) if isinstance(variable.storage, Tuple) else items
        if isinstance(variable, Array) and variable.is_scalar:
            return self.proxy(self.number_in(variable))
        try:
            proxy = variable.as_proxy()
        except Break as reason:
            if reason.type is not objects.UNKNOWN_OBJECT:
                raise
            what = variable.describe()
            raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function="a node", argument=what) from None
        if not isinstance(proxy, (*_GRAPH_OBJECTS, torch.fx.Node)):
            raise Break(
                calls.ARGUMENT_OUTSIDE_GRAPH, function="a node", argument=variable.describe()
            )
        return proxy

    def op_failure(self, failed: OpFailed, target: Any) -> Break:
        name = getattr(target, "__name__", str(target))
        if failed.reason == "data":
            return Break(tensors.DATA_DEPENDENT_OP, operator=name)
        if failed.reason == "shape":
            entry = tensors.DYNAMIC_SHAPE_NO_META
            if not config.capture_dynamic_output_shape_ops or self.plan.without_data:
                entry = tensors.DYNAMIC_SHAPE_OP
            return Break(entry, operator=name)
        if failed.reason == "kernel":
            return no_fake_kernel(failed, target, name)
        if failed.reason == "decision":
            return self.unbacked_decision(failed.cause)
        error = f"{type(failed.cause).__name__}: {failed.cause}"
        if "no fake impl registered" in error:
            return no_fake_kernel(failed, target, name)
        return Break(tensors.FAKE_FAILED, operator=name, error=error)

    def from_graph(self, node: Any, value: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The variable of a node's result; an argument that comes back is the same object."""
        if isinstance(value, torch.Tensor):
            for arg in (*args, *kwargs.values()):
                if isinstance(arg, Tensor) and arg.value is value:
                    return arg
                if isinstance(arg, (List, Tuple)):
                    for item in arg.items:
                        if isinstance(item, Tensor) and item.value is value:
                            return item
            return Tensor(node, value, None, _plain_class(value))
        return self.from_value(node, value)

    def from_value(self, node: Any, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return Tensor(node, value, None, _plain_class(value))
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.symbol(node, value)
        if is_literal(value) and not isinstance(value, tuple):
            return Constant(value)
        if isinstance(value, (tuple, list)):
            items = [
                self.from_value(self.graph.getitem(node, i, v), v)
                if _in_graph(v)
                else self.known(v)
                for i, v in enumerate(value)
            ]
            return self._like(value, items)
        if isinstance(value, dict):
            return Dict(
                {
                    k: (Constant(k), self.from_value(self.graph.getitem(node, k, v), v))
                    for k, v in value.items()
                }
            )
        error = f"gives a {type(value).__name__}"
        raise Break(tensors.FAKE_FAILED, operator=str(node.target), error=error)

    def _like(self, value: Any, items: list[Any]) -> Any:
        if type(value) is list:
            return List(items)
        if type(value) is torch.Size:
            return Size(items)
        if type(value) is tuple:
            return Tuple(items)
        return StructTuple(type(value), items)

    def symbol(self, node: Any, value: Any) -> Any:
        """A symbolic number; a constant if torch knows its value."""
        known = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else None
        if known is not None:
            return Constant(known)
        return Symbol(node, value)

    # ---- attributes and methods

    def tensor_attribute(self, tensor: Tensor, name: str) -> Any:
        if tensor.attrs is not None and name in tensor.attrs:
            return tensor.attrs[name]
        if tensor.cls not in PLAIN:
            own = self.subclass_attribute(tensor, name)
            if own is not None:
                return own
        return self.torch_attribute(tensor, name)

    def torch_attribute(self, tensor: Tensor, name: str) -> Any:
        """An attribute as torch.Tensor has it, whatever the class of the tensor says."""
        if self.asks:
            asked = self.field_override(tensor, name)
            if asked is not None:
                return asked
        if name in ("is_leaf", "retains_grad") and tensor.source is not None:
            return self.fact_of_history(tensor, name)
        if name in KNOWN_PROPERTIES and not callable(getattr(torch.Tensor, name, None)):
            if self.graph.quiet and self.hides_method(tensor, name):
                return self.known(getattr(torch.Tensor, name).__get__(tensor.value))
            return self.known(getattr(tensor.value, name))
        if name == "shape":
            return self.tensor_shape(tensor)
        if name in _COMPUTED:
            return self.call_torch(getattr, [tensor, Constant(name)], {})
        if name == "data":
            return self.call_torch(autograd_parts.data_of, [tensor], {})
        if name == "nbytes":
            size = self._measure(tensor, "numel", [], {})
            return self.finish(self.binary("mul", size, Constant(tensor.value.element_size())))
        if name == "__class__":
            return self.wrap(tensor.cls, None)
        if name in ("grad", "grad_fn", "_grad", "_base", "_version", "grad_dtype"):
            return self.autograd_attribute(tensor, name)
        found = inspect.getattr_static(tensor.cls, name, None)
        if found is None:
            return self._instance_attribute_of_tensor(tensor, name)
        if isinstance(found, property):
            return self.tail_call(self.wrap(found.fget, None), [tensor], {})
        if callable(getattr(torch.Tensor, name, None)):
            return TensorMethod(tensor, name)
        if callable(found):
            return self.method(self.wrap(found, None), tensor)
        if is_literal(found):
            return Constant(found)
        raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)

    def base_tensor_attribute(self, tensor: Tensor, base: type, name: str) -> Any:
        """`super().name` of a tensor, where torch's own classes define it."""
        if base is tensor_parts.TensorBase and callable(getattr(base, name)):
            return BaseMethod(tensor, name)
        if callable(getattr(torch.Tensor, name)):
            return self.method(self.wrap(getattr(torch.Tensor, name), None), tensor)
        return self.torch_attribute(tensor, name)

    def _instance_attribute_of_tensor(self, tensor: Tensor, name: str) -> Any:
        if tensor.example is not None and tensor.cls in PLAIN:
            if hasattr(tensor.example, name):
                return self.wrap(getattr(tensor.example, name), tensor.source.attr(name))
            self.guards.add(tensor.source, "no_attr", name)
        if tensor.cls not in PLAIN:
            inner = self.wrapper_attribute(tensor, name)
            if inner is not MISSING:
                return inner
            getter = self.type_lookup(tensor.cls, "__getattr__")
            if isinstance(getter, types.FunctionType):
                return self.tail_call(self.wrap(getter, None), [tensor, Constant(name)], {})
        return self.no_attribute(tensor, name)

    def autograd_attribute(self, tensor: Tensor, name: str) -> Any:
        if name == "grad" and tensor.example is not None and tensor.example.is_leaf:
            place = tensor.source.attr("grad")
            self._loose.add(id(place))  # each backward may make a new one
            return self.wrap(tensor.example.grad, place)
        if name in ("grad", "_grad") and tensor.example is None and not tensor.value.requires_grad:
            return Constant(None)
        if name == "grad_fn" and (not tensor.value.requires_grad or tensor.value.is_leaf):
            self.guard_history(tensor)
            return Constant(None)
        if name == "grad_fn":
            raise Break(tensor_methods.GRAD_FN, tensor=tensor.describe())
        if tensor.cls not in PLAIN:
            kind = tensor.cls.__name__
            raise Break(subclasses.SUBCLASS_ATTRIBUTE, subclass=kind, attribute=name)
        raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)

    def method_of_refused(self, tensor: Any, name: str, args: list[Any], kwargs: Any) -> Any:
        """A method of a tensor that is no value of the graph: some have a break of their own."""
        if name.startswith("sparse_resize_"):
            return METHODS[name](self, tensor, args, kwargs)
        raise tensor.why()

    def tensor_set_attribute(self, tensor: Tensor, name: str, value: Variable) -> None:
        set_attribute(self, tensor, name, value)

    def tensor_shape(self, tensor: Tensor) -> Size:
        return Size([self._dimension(tensor, i, n) for i, n in enumerate(tensor.value.shape)])

    def _dimension(self, tensor: Tensor, i: int, size: Any) -> Any:
        if isinstance(size, torch.SymInt):
            known = size.node.maybe_as_int()
            if known is None:
                at = (tensor.node, i)
                node = self.graph.node("call_method", "size", at, {}, size, counted=False)
                return Symbol(node, size)
            size = known
        return Constant(int(size))

    def tensor_length(self, tensor: Tensor) -> Any:
        if tensor.value.dim() == 0:
            return self.raise_(TypeError, "len() of a 0-d tensor")
        return self._dimension(tensor, 0, tensor.value.shape[0])

    def tensor_method(self, tensor: Tensor, name: str, args: list[Any], kwargs: Any) -> Any:
        """A method of a tensor: known at once, or a node."""
        if self.asks or any(type(a) is Object for a in args):
            asked = self.method_override(tensor, name, args, kwargs)
            if asked is not None:
                return asked
        if "from" in kwargs and not args:  # a reserved word, which no graph's source can hold
            args = [kwargs["from"]]
            kwargs = {k: v for k, v in kwargs.items() if k != "from"}
        own = METHODS.get(name)
        if own is not None:
            return own(self, tensor, args, kwargs)
        if name in _NUMBERS:
            return self.tensor_to_number(tensor, name)
        if name == "size" and not kwargs:
            shape = self.tensor_shape(tensor)
            return shape if not args else self._pick(shape, args)
        if name in ("dim", "ndimension", "__len__"):
            return self.tensor_length(tensor) if name == "__len__" else Constant(tensor.value.dim())
        if name in KNOWN_METHODS:
            return self._known_method(tensor, name, args, kwargs)
        if name in ("numel", "nelement", "stride"):
            return self._measure(tensor, name, args, kwargs)
        found = inspect.getattr_static(tensor.cls, name, None)
        if found is None:
            return self.tail_call(self.tensor_attribute(tensor, name), args, kwargs)
        return self.tensor_node(tensor, name, args, kwargs)

    def _pick(self, shape: Size, args: list[Any]) -> Any:
        at = self.integer(args[0])
        if not -len(shape.items) <= at < len(shape.items):
            n = len(shape.items)
            return self.raise_(
                IndexError,
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}],"
                f" but got {at})",
            )
        return shape.items[at]

    def _known_method(self, tensor: Tensor, name: str, args: list[Any], kwargs: Any) -> Any:
        values = [a.value if isinstance(a, Tensor) else self.constant_value(a) for a in args]
        named = {k: self.constant_value(v) for k, v in kwargs.items()}
        with self.graph.fake:
            result = getattr(tensor.value, name)(*values, **named)
        return self.known(result)

    def _measure(self, tensor: Tensor, name: str, args: list[Any], kwargs: Any) -> Any:
        with self.graph.fake:
            values = [self.constant_value(a) for a in args]
            named = {k: self.constant_value(v) for k, v in kwargs.items()}
            result = getattr(tensor.value, name)(*values, **named)
        if is_literal(result):
            return Constant(result)
        return self.add_node("call_method", name, [tensor, *args], kwargs)

    def tensor_node(self, tensor: Tensor, name: str, args: list[Any], kwargs: Any) -> Any:
        method = getattr(torch.Tensor, name, None)
        verdict = self.rule_of(method) if method is not None else None
        if verdict is not None:
            return verdict(self, [tensor, *args], kwargs)
        return self.add_node("call_method", name, [tensor, *args], kwargs)

    def fold_torch(self, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function whose result is a fact, of tensors or of torch's settings."""
        if any(holds_tensor(self, a) for a in (*args, *kwargs.values())):
            given = torch.fx.map_arg([self.proxy(a) for a in args], _fake_of)
            named = torch.fx.map_arg({k: self.proxy(v) for k, v in kwargs.items()}, _fake_of)
            with self.graph.fake:
                return self.folded(lambda: real(*given, **named))
        result = self.fold(real, args, kwargs)
        setting = isinstance(real, types.BuiltinFunctionType)
        if setting and not args and not kwargs and result.is_constant() and not self.modes:
            self.guards.add(None, "torch_state", (real, result.constant(), real.__name__))
        return result

    def tensor_rows(self, tensor: Tensor) -> list[Any]:
        """The elements of a tensor along its first dimension, as iteration gives them."""
        if tensor.value.dim() == 0:
            self.raise_(TypeError, "iteration over a 0-d tensor")
        count = self.tensor_length(tensor)
        self.constant_value(count)
        return self.unpack(self.add_node("call_method", "unbind", [tensor, Constant(0)], {}))

    def tensor_contains(self, tensor: Tensor, item: Any) -> Any:
        found = self.call_torch(operator.eq, [tensor, item], {})
        return self.to_bool(self.add_node("call_method", "any", [found], {}))

    def tensor_to_number(self, tensor: Tensor, method: str) -> Any:
        """`.item()` and its kin: a symbolic number, where torch can make one."""
        asked = self.special_override(tensor, method, []) if self.asks else None
        if asked is not None:
            return asked
        number = self.known_number(tensor)
        if number is not None:
            return self.folded(lambda: getattr(number, method)() if method != "item" else number)
        if method == "__bool__" or (tensor.value.dtype is torch.bool and method == "item"):
            made = self.truth_from_data(tensor) if self.whole else None
            return made if made is not None else Constant(self.truth(tensor))
        keep = config.capture_scalar_outputs and not self.plan.without_data
        made = self.number_from_data(tensor, method) if keep else None
        if made is None:
            raise Break(tensors.ITEM, tensor=tensor.describe(), method=method)
        return made

    def truth_from_data(self, tensor: Tensor) -> Any:
        """The truth of a tensor as a symbol, for a graph that must be whole; None if it cannot be.
        A branch on it is a break all the same."""
        if self.known_number(tensor) is not None or not config.capture_scalar_outputs:
            return None
        if tensor.value.dtype is not torch.bool:
            tensor = self.compare("!=", tensor, Constant(0))
        return self.number_from_data(tensor, "item")

    def graph_binary(self, name: str, left: Any, right: Any) -> Any:
        """An operator as a node, or None if an operand does not belong in a graph."""
        if not (_operand(left) and _operand(right)):
            return None
        real = getattr(operator, name) if name != "divmod" else divmod
        some_symbol = isinstance(left, Symbol) or isinstance(right, Symbol)
        if some_symbol and not (isinstance(left, Tensor) or isinstance(right, Tensor)):
            if any(isinstance(v, Constant) and v.as_proxy() is not v.value for v in (left, right)):
                return None  # a scalar of NumPy decides the type
            plain = name.removeprefix("i") if name in IN_PLACE else name
            return self.symbol_binary(plain, left, right)
        if name in IN_PLACE and not isinstance(left, Tensor):
            real = getattr(operator, IN_PLACE[name])
        return self.call_torch(real, [left, right], {})

    def graph_compare(self, symbol: str, left: Any, right: Any) -> Any:
        some_tensor = isinstance(left, Tensor) or isinstance(right, Tensor)
        if some_tensor and symbol in ("==", "!="):
            for side in (left, right):  # torch has no answer for None or a text
                if isinstance(side, Constant) and not _operand(side):
                    return Constant(symbol == "!=")
        if not (_operand(left) and _operand(right)):
            return None
        if some_tensor:
            return self.call_torch(COMPARE[symbol][0], [left, right], {})
        if any(type(v) is Constant and isinstance(v.value, enum.Enum) for v in (left, right)):
            return None  # a symbol is no number to the member of an enum
        return self.symbol_compare(symbol, left, right)


_SCALARS = (int, float, complex)
# Real objects that a graph's code can spell.
_GRAPH_OBJECTS = (
    str, bytes, int, float, complex, type(None), type(...), torch.dtype, torch.device,
    torch.layout, torch.memory_format, operators.OpOverload, operators.OpOverloadPacket,
    operators.HigherOrderOperator, slice, range, tuple, list, dict, type,
)  # fmt: skip


def _fake_of(node: torch.fx.Node) -> Any:
    return node.meta["example_value"]


def _operand(variable: Any) -> bool:
    if isinstance(variable, GraphValue):
        return True
    return isinstance(variable, Constant) and isinstance(variable.as_proxy(), _SCALARS)


def _in_graph(value: Any) -> bool:
    return isinstance(
        value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, list, tuple, dict)
    )


def _plain_class(value: torch.Tensor) -> type:
    """The class the real result has; fake tensors stand for plain ones."""
    if is_traceable_wrapper_subclass(value):
        return type(value)
    if isinstance(value, torch.nn.Parameter):
        return torch.nn.Parameter
    return torch.Tensor
