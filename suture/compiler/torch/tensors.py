"""Operations on tensors: nodes of the graph."""

from __future__ import annotations

import enum
import inspect
import operator
import types
from typing import Any

import torch

from suture import config
from suture.breaks import Break, calls, objects, subclasses, tensor_methods, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls.functions import rule_of
from suture.compiler.core import Trace
from suture.compiler.graph import OpFailed
from suture.compiler.language.attributes import MISSING, no_attribute
from suture.compiler.language.operators import COMPARE, IN_PLACE
from suture.compiler.models import model_named
from suture.compiler.objects import (
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
    Value,
    is_literal,
)
from suture.compiler.objects.array import Array
from suture.compiler.objects.struct_tuple import StructTuple
from suture.compiler.objects.tensor import KNOWN_METHODS, KNOWN_PROPERTIES, BaseMethod
from suture.compiler.torch.constructors import holds_tensor
from suture.compiler.torch.derivatives import fact_of_history
from suture.compiler.torch.missing_kernels import no_fake_kernel
from suture.compiler.torch.outputs import refuse_resize
from suture.compiler.torch.overrides import override_of_method
from suture.compiler.torch.parameters import make_leaf, makes_leaf
from suture.compiler.torch.records import record_proxy
from suture.compiler.torch.subclasses import PLAIN, subclass_attribute, with_class
from suture.compiler.torch.symbols import (
    number_from_data,
    symbol_binary,
    symbol_compare,
    unbacked_decision,
)
from suture.compiler.torch.tensor_methods import set_attribute
from suture.compiler.torch.wrappers import base_call, hides_method, wrapper_attribute
from suture.torch_private import autograd_parts, operators, tensor_parts
from suture.torch_private.tensor_parts import is_traceable_wrapper_subclass

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


@implements(abstract.is_tensor)
def is_tensor(trace: Trace, variable: object) -> bool:
    return isinstance(variable, Tensor)


# ---- nodes


@implements(abstract.call_torch)
def call_torch(trace: Trace, target: object, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return add_node(trace, "call_function", target, args, kwargs)


@implements(abstract.add_node)
def add_node(trace: Trace, op: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if "requires_grad" in kwargs and makes_leaf(trace, target, kwargs["requires_grad"]):
        return make_leaf(trace, op, target, args, kwargs)
    if "out" in kwargs:
        refuse_resize(trace, op, target, args, kwargs)
    flat = tuple(as_proxy(trace, a) for a in args)
    named = {k: as_proxy(trace, v) for k, v in kwargs.items()}
    if op == "call_method" and trace.graph.quiet and hides_method(trace, args[0], target):
        op, target, flat = "call_function", base_call, (target, *flat)
    try:
        node, value = trace.graph.call(op, target, flat, named)
    except OpFailed as failed:
        raise op_failure(trace, failed, target) from failed.cause
    return with_class(trace, from_graph(trace, node, value, args, kwargs), args, kwargs)


@implements(abstract.fake_result)
def fake_result(
    trace: Trace, op: str, target: object, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    flat = tuple(as_proxy(trace, a) for a in args)
    named = {k: as_proxy(trace, v) for k, v in kwargs.items()}
    try:
        return trace.graph.run_fake(op, target, flat, named)
    except OpFailed as failed:
        raise op_failure(trace, failed, target) from failed.cause


@implements(abstract.proxy)
def as_proxy(trace: Trace, variable: Value) -> Any:
    if isinstance(variable, (GraphValue, Constant)):
        return variable.as_proxy()
    if isinstance(variable, (List, Tuple)):
        items = [as_proxy(trace, i) for i in variable.unpacked(trace)]
        return items if isinstance(variable, List) else tuple(items)
    return proxy_other(trace, variable)


def proxy_other(trace: Trace, variable: Value) -> Any:
    if isinstance(variable, Dict):
        return {
            abstract.constant_value(trace, k): as_proxy(trace, v)
            for k, v in abstract.dict_pairs(trace, variable)
        }
    record = record_proxy(trace, variable) if isinstance(variable, Object) else None
    if record is not None:
        return record
    if isinstance(variable, Object) and isinstance(variable.storage, (List, Tuple)):
        items = [as_proxy(trace, i) for i in variable.storage.unpacked(trace)]
        return tuple(items) if isinstance(variable.storage, Tuple) else items
    if isinstance(variable, Array) and variable.is_scalar:
        return as_proxy(trace, abstract.number_in(trace, variable))
    try:
        proxy = variable.as_proxy()
    except Break as reason:
        if reason.type is not objects.UNKNOWN_OBJECT:
            raise
        what = variable.describe()
        raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function="a node", argument=what) from None
    if not isinstance(proxy, (*_GRAPH_OBJECTS, torch.fx.Node)):
        raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function="a node", argument=variable.describe())
    return proxy


def op_failure(trace: Trace, failed: OpFailed, target: object) -> Break:
    name = getattr(target, "__name__", str(target))
    if failed.reason == "data":
        return Break(tensors.DATA_DEPENDENT_OP, operator=name)
    if failed.reason == "shape":
        entry = tensors.DYNAMIC_SHAPE_NO_META
        if not config.capture_dynamic_output_shape_ops or trace.region.plan.without_data:
            entry = tensors.DYNAMIC_SHAPE_OP
        return Break(entry, operator=name)
    if failed.reason == "kernel":
        return no_fake_kernel(failed, target, name)
    if failed.reason == "decision":
        return unbacked_decision(trace, failed.cause)
    error = f"{type(failed.cause).__name__}: {failed.cause}"
    if "no fake impl registered" in error:
        return no_fake_kernel(failed, target, name)
    return Break(tensors.FAKE_FAILED, operator=name, error=error)


def from_graph(
    trace: Trace, node: torch.fx.Node, value: Value, args: list[Any], kwargs: dict[str, Any]
) -> Value | None:
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
    return from_value(trace, node, value)


@implements(abstract.from_value)
def from_value(trace: Trace, node: Any, value: object) -> Any:
    if isinstance(value, torch.Tensor):
        return Tensor(node, value, None, _plain_class(value))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return symbol(trace, node, value)
    if is_literal(value) and not isinstance(value, tuple):
        return Constant(value)
    if isinstance(value, (tuple, list)):
        items = [
            from_value(trace, trace.graph.getitem(node, i, v), v)
            if _in_graph(v)
            else abstract.known(trace, v)
            for i, v in enumerate(value)
        ]
        return _like(trace, value, items)
    if isinstance(value, dict):
        return Dict(
            {
                k: (Constant(k), from_value(trace, trace.graph.getitem(node, k, v), v))
                for k, v in value.items()
            }
        )
    error = f"gives a {type(value).__name__}"
    raise Break(tensors.FAKE_FAILED, operator=str(node.target), error=error)


def _like(trace: Trace, value: object, items: list[Any]) -> Value | None:
    if type(value) is list:
        return List(items)
    if type(value) is torch.Size:
        return Size(items)
    if type(value) is tuple:
        return Tuple(items)
    return StructTuple(type(value), items)


def symbol(trace: Trace, node: torch.fx.Node, value: Value) -> Value:
    """A symbolic number; a constant if torch knows its value."""
    known = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else None
    if known is not None:
        return Constant(known)
    return Symbol(node, value)


# ---- attributes and methods


@implements(abstract.tensor_attribute)
def tensor_attribute(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    if tensor.attrs is not None and name in tensor.attrs:
        return tensor.attrs[name]
    if tensor.cls not in PLAIN:
        own = subclass_attribute(trace, tensor, name)
        if own is not None:
            return own
    return torch_attribute(trace, tensor, name)


@implements(abstract.torch_attribute)
def torch_attribute(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    if trace.modes.asks:
        asked = abstract.field_override(trace, tensor, name)
        if asked is not None:
            return asked
    if name in ("is_leaf", "retains_grad") and tensor.source is not None:
        return fact_of_history(trace, tensor, name)
    if name in KNOWN_PROPERTIES and not callable(getattr(torch.Tensor, name, None)):
        if trace.graph.quiet and hides_method(trace, tensor, name):
            return abstract.known(trace, getattr(torch.Tensor, name).__get__(tensor.value))
        return abstract.known(trace, getattr(tensor.value, name))
    if name == "shape":
        return tensor_shape(trace, tensor)
    if name in _COMPUTED:
        return call_torch(trace, getattr, [tensor, Constant(name)], {})
    if name == "data":
        return call_torch(trace, autograd_parts.data_of, [tensor], {})
    if name == "nbytes":
        size = _measure(trace, tensor, "numel", [], {})
        return abstract.finish(
            trace, abstract.binary(trace, "mul", size, Constant(tensor.value.element_size()))
        )
    if name == "__class__":
        return abstract.wrap(trace, tensor.cls, None)
    if name in ("grad", "grad_fn", "_grad", "_base", "_version", "grad_dtype"):
        return autograd_attribute(trace, tensor, name)
    found = inspect.getattr_static(tensor.cls, name, None)
    if found is None:
        return _instance_attribute_of_tensor(trace, tensor, name)
    if isinstance(found, property):
        return abstract.tail_call(trace, abstract.wrap(trace, found.fget, None), [tensor], {})
    if callable(getattr(torch.Tensor, name, None)):
        return TensorMethod(tensor, name)
    if callable(found):
        return abstract.method(trace, abstract.wrap(trace, found, None), tensor)
    if is_literal(found):
        return Constant(found)
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)


@implements(abstract.base_tensor_attribute)
def base_tensor_attribute(trace: Trace, tensor: Tensor, base: type, name: str) -> Value | None:
    if base is tensor_parts.TensorBase and callable(getattr(base, name)):
        return BaseMethod(tensor, name)
    if callable(getattr(torch.Tensor, name)):
        return abstract.method(
            trace, abstract.wrap(trace, getattr(torch.Tensor, name), None), tensor
        )
    return torch_attribute(trace, tensor, name)


def _instance_attribute_of_tensor(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    if tensor.example is not None and tensor.cls in PLAIN:
        if hasattr(tensor.example, name):
            return abstract.wrap(trace, getattr(tensor.example, name), tensor.source.attr(name))
        trace.guards.add(tensor.source, "no_attr", name)
    if tensor.cls not in PLAIN:
        inner = wrapper_attribute(trace, tensor, name)
        if inner is not MISSING:
            return inner
        getter = abstract.type_lookup(trace, tensor.cls, "__getattr__")
        if isinstance(getter, types.FunctionType):
            return abstract.tail_call(
                trace, abstract.wrap(trace, getter, None), [tensor, Constant(name)], {}
            )
    return no_attribute(trace, tensor, name)


def autograd_attribute(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    if name == "grad" and tensor.example is not None and tensor.example.is_leaf:
        place = tensor.source.attr("grad")
        trace.outside.loose.add(id(place))  # each backward may make a new one
        return abstract.wrap(trace, tensor.example.grad, place)
    if name in ("grad", "_grad") and tensor.example is None and not tensor.value.requires_grad:
        return Constant(None)
    if name == "grad_fn" and (not tensor.value.requires_grad or tensor.value.is_leaf):
        abstract.guard_history(trace, tensor)
        return Constant(None)
    if name == "grad_fn":
        raise Break(tensor_methods.GRAD_FN, tensor=tensor.describe())
    if tensor.cls not in PLAIN:
        kind = tensor.cls.__name__
        raise Break(subclasses.SUBCLASS_ATTRIBUTE, subclass=kind, attribute=name)
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)


@implements(abstract.method_of_refused)
def method_of_refused(
    trace: Trace, tensor: Any, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value:
    model = model_named(f"Tensor.{name}") if name.startswith("sparse_resize_") else None
    if model is not None:
        return model(trace, tensor, args, kwargs)
    raise tensor.why()


@implements(abstract.tensor_set_attribute)
def tensor_set_attribute(trace: Trace, tensor: Tensor, name: str, value: Value) -> None:
    set_attribute(trace, tensor, name, value)


@implements(abstract.tensor_shape)
def tensor_shape(trace: Trace, tensor: Tensor) -> Size:
    return Size([_dimension(trace, tensor, i, n) for i, n in enumerate(tensor.value.shape)])


def _dimension(trace: Trace, tensor: Tensor, i: int, size: Any) -> Value:
    if isinstance(size, torch.SymInt):
        known = size.node.maybe_as_int()
        if known is None:
            at = (tensor.node, i)
            node = trace.graph.node("call_method", "size", at, {}, size, counted=False)
            return Symbol(node, size)
        size = known
    return Constant(int(size))


@implements(abstract.tensor_length)
def tensor_length(trace: Trace, tensor: Tensor) -> Value | None:
    if tensor.value.dim() == 0:
        return abstract.raise_(trace, TypeError, "len() of a 0-d tensor")
    return _dimension(trace, tensor, 0, tensor.value.shape[0])


@implements(abstract.tensor_method)
def tensor_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value | None:
    if trace.modes.asks or any(type(a) is Object for a in args):
        asked = override_of_method(trace, tensor, name, args, kwargs)
        if asked is not None:
            return asked
    if "from" in kwargs and not args:  # a reserved word, which no graph's source can hold
        args = [kwargs["from"]]
        kwargs = {k: v for k, v in kwargs.items() if k != "from"}
    own = model_named("Tensor." + name)
    if own is not None:
        return own(trace, tensor, args, kwargs)
    if name in _NUMBERS:
        return tensor_to_number(trace, tensor, name)
    if name == "size" and not kwargs:
        shape = tensor_shape(trace, tensor)
        return shape if not args else _pick(trace, shape, args)
    if name in ("dim", "ndimension", "__len__"):
        return tensor_length(trace, tensor) if name == "__len__" else Constant(tensor.value.dim())
    if name in KNOWN_METHODS:
        return _known_method(trace, tensor, name, args, kwargs)
    if name in ("numel", "nelement", "stride"):
        return _measure(trace, tensor, name, args, kwargs)
    found = inspect.getattr_static(tensor.cls, name, None)
    if found is None:
        return abstract.tail_call(trace, tensor_attribute(trace, tensor, name), args, kwargs)
    return tensor_node(trace, tensor, name, args, kwargs)


def _pick(trace: Trace, shape: Size, args: list[Any]) -> Value | None:
    at = abstract.integer(trace, args[0])
    if not -len(shape.items) <= at < len(shape.items):
        n = len(shape.items)
        return abstract.raise_(
            trace,
            IndexError,
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {at})",
        )
    return shape.items[at]


def _known_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value | None:
    values = [a.value if isinstance(a, Tensor) else abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    with trace.graph.fake:
        result = getattr(tensor.value, name)(*values, **named)
    return abstract.known(trace, result)


def _measure(
    trace: Trace, tensor: Tensor, name: str, args: list[Any], kwargs: dict[str, Value]
) -> Value | None:
    with trace.graph.fake:
        values = [abstract.constant_value(trace, a) for a in args]
        named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
        result = getattr(tensor.value, name)(*values, **named)
    if is_literal(result):
        return Constant(result)
    return add_node(trace, "call_method", name, [tensor, *args], kwargs)


@implements(abstract.tensor_node)
def tensor_node(
    trace: Trace, tensor: Tensor, name: str, args: list[Any], kwargs: Any
) -> Value | None:
    method = getattr(torch.Tensor, name, None)
    verdict = rule_of(trace, method) if method is not None else None
    if verdict is not None:
        return verdict(trace, [tensor, *args], kwargs)
    return add_node(trace, "call_method", name, [tensor, *args], kwargs)


@implements(abstract.fold_torch)
def fold_torch(trace: Trace, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Value | None:
    if any(holds_tensor(trace, a) for a in (*args, *kwargs.values())):
        given = torch.fx.map_arg([as_proxy(trace, a) for a in args], _fake_of)
        named = torch.fx.map_arg({k: as_proxy(trace, v) for k, v in kwargs.items()}, _fake_of)
        with trace.graph.fake:
            return abstract.folded(trace, lambda: real(*given, **named))
    result = abstract.fold(trace, real, args, kwargs)
    setting = isinstance(real, types.BuiltinFunctionType)
    if setting and not args and not kwargs and result.is_constant() and not trace.modes.changed:
        trace.guards.add(None, "torch_state", (real, result.constant(), real.__name__))
    return result


@implements(abstract.tensor_rows)
def tensor_rows(trace: Trace, tensor: Tensor) -> list[Any]:
    if tensor.value.dim() == 0:
        abstract.raise_(trace, TypeError, "iteration over a 0-d tensor")
    count = tensor_length(trace, tensor)
    abstract.constant_value(trace, count)
    return abstract.unpack(
        trace, add_node(trace, "call_method", "unbind", [tensor, Constant(0)], {})
    )


@implements(abstract.tensor_contains)
def tensor_contains(trace: Trace, tensor: Tensor, item: object) -> Value:
    found = call_torch(trace, operator.eq, [tensor, item], {})
    return abstract.to_bool(trace, add_node(trace, "call_method", "any", [found], {}))


@implements(abstract.tensor_to_number)
def tensor_to_number(trace: Trace, tensor: Tensor, method: str) -> Any:
    asked = abstract.special_override(trace, tensor, method, []) if trace.modes.asks else None
    if asked is not None:
        return asked
    number = abstract.known_number(trace, tensor)
    if number is not None:
        return abstract.folded(
            trace, lambda: getattr(number, method)() if method != "item" else number
        )
    if method == "__bool__" or (tensor.value.dtype is torch.bool and method == "item"):
        made = truth_from_data(trace, tensor) if trace.region.whole else None
        return made if made is not None else Constant(abstract.truth(trace, tensor))
    keep = config.capture_scalar_outputs and not trace.region.plan.without_data
    made = number_from_data(trace, tensor, method) if keep else None
    if made is None:
        raise Break(tensors.ITEM, tensor=tensor.describe(), method=method)
    return made


@implements(abstract.truth_from_data)
def truth_from_data(trace: Trace, tensor: Tensor) -> Any:
    if abstract.known_number(trace, tensor) is not None or not config.capture_scalar_outputs:
        return None
    if tensor.value.dtype is not torch.bool:
        tensor = abstract.compare(trace, "!=", tensor, Constant(0))
    return number_from_data(trace, tensor, "item")


@implements(abstract.graph_binary)
def graph_binary(trace: Trace, name: str, left: Value, right: Value) -> Any:
    if not (_operand(left) and _operand(right)):
        return None
    real = getattr(operator, name) if name != "divmod" else divmod
    some_symbol = isinstance(left, Symbol) or isinstance(right, Symbol)
    if some_symbol and not (isinstance(left, Tensor) or isinstance(right, Tensor)):
        if any(isinstance(v, Constant) and v.as_proxy() is not v.value for v in (left, right)):
            return None  # a scalar of NumPy decides the type
        plain = name.removeprefix("i") if name in IN_PLACE else name
        return symbol_binary(trace, plain, left, right)
    if name in IN_PLACE and not isinstance(left, Tensor):
        real = getattr(operator, IN_PLACE[name])
    return call_torch(trace, real, [left, right], {})


@implements(abstract.graph_compare)
def graph_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Any:
    some_tensor = isinstance(left, Tensor) or isinstance(right, Tensor)
    if some_tensor and symbol in ("==", "!="):
        for side in (left, right):  # torch has no answer for None or a text
            if isinstance(side, Constant) and not _operand(side):
                return Constant(symbol == "!=")
    if not (_operand(left) and _operand(right)):
        return None
    if some_tensor:
        return call_torch(trace, COMPARE[symbol][0], [left, right], {})
    if any(type(v) is Constant and isinstance(v.value, enum.Enum) for v in (left, right)):
        return None  # a symbol is no number to the member of an enum
    return symbol_compare(trace, symbol, left, right)


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


def _in_graph(value: object) -> bool:
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
