"""Operations on tensors: nodes of the graph."""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Iterable
from typing import Any

import torch

from suture import config
from suture.breaks import Break, calls, objects, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace
from suture.compiler.graph import OpFailed
from suture.compiler.graph.arrays import array_function, array_method
from suture.compiler.language.operators import COMPARE, IN_PLACE
from suture.compiler.objects import (
    Constant,
    Dict,
    GraphValue,
    List,
    Object,
    Size,
    Symbol,
    Tensor,
    Tuple,
    Value,
)
from suture.compiler.objects import array as array_values
from suture.compiler.objects.array import Array
from suture.compiler.objects.struct_tuple import StructTuple
from suture.compiler.torch.constructors import holds_tensor
from suture.compiler.torch.eager_checks import refuse_what_eager_refuses
from suture.compiler.torch.missing_kernels import no_fake_kernel
from suture.compiler.torch.optimizer_numbers import beside_tensors, note_number
from suture.compiler.torch.outputs import refuse_resize
from suture.compiler.torch.parameters import make_leaf, makes_leaf
from suture.compiler.torch.records import record_proxy
from suture.compiler.torch.slot_overrides import override_of_slot
from suture.compiler.torch.subclasses import with_class
from suture.compiler.torch.symbols import (
    decided,
    holds_symbols,
    number_from_data,
    symbol_binary,
    symbol_compare,
    unbacked_decision,
)
from suture.compiler.torch.wrappers import base_call, hides_method
from suture.runtime.predicates import is_literal
from suture.torch_private import fake_tensors, operators
from suture.torch_private.tensor_parts import is_traceable_wrapper_subclass

# Properties that compute: one node each.
NUMBERS = {
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
def call_torch(trace: Trace, target: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return add_node(trace, "call_function", target, args, kwargs)


@implements(abstract.add_node)
def add_node(
    trace: Trace, op: str, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if "requires_grad" in kwargs and makes_leaf(trace, target, kwargs["requires_grad"]):
        return make_leaf(trace, op, target, args, kwargs)
    refuse_what_eager_refuses(trace, op, target, args)
    if trace.graph.numbers:
        args = beside_tensors(trace, args)
    if "out" in kwargs:
        refuse_resize(trace, op, target, args, kwargs)
    flat = tuple([as_proxy(trace, a) for a in args])
    named = {k: as_proxy(trace, v) for k, v in kwargs.items()} if kwargs else {}
    if (
        op == "call_method"
        and trace.graph.torch_function_off
        and hides_method(trace, args[0], target)
    ):
        op, target, flat = "call_function", base_call, (target, *flat)
    try:
        node, value = trace.graph.call(op, target, flat, named)
    except OpFailed as failed:
        if isinstance(failed.cause, TypeError) and holds_symbols(args, kwargs):
            return add_node(trace, op, target, *decided(trace, args, kwargs))
        raise op_failure(trace, failed, target) from failed.cause
    result = with_class(trace, from_graph(trace, node, value, args, kwargs), args, kwargs)
    if trace.graph.numbers:
        note_number(trace, args, result)
    return result


@implements(abstract.fake_result)
def fake_result(
    trace: Trace, op: str, target: object, args: list[Value], kwargs: dict[str, Value]
) -> Any:
    flat = tuple(as_proxy(trace, a) for a in args)
    named = {k: as_proxy(trace, v) for k, v in kwargs.items()}
    try:
        return trace.graph.run_fake(op, target, flat, named)
    except OpFailed as failed:
        raise op_failure(trace, failed, target) from failed.cause


@implements(abstract.proxy)
def as_proxy(trace: Trace, variable: Value) -> Any:
    if type(variable) is Tensor:
        return variable.node
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
        return as_proxy(trace, array_values.number_in(trace, variable))
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
    trace: Trace, node: torch.fx.Node, value: object, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The value of a node's result; an argument that comes back is the same object, in a tuple
    of results too (`torch.max(x, 1, out=(values, indices))`). NumPy makes each array anew, and
    its nodes are asked for by the parts they give."""
    if isinstance(value, (tuple, list)) and node.target in (array_function, array_method):
        return from_value(trace, node, value)
    return from_value(trace, node, value, _tensors_in(trace, (*args, *kwargs.values())))


def _tensors_in(trace: Trace, given: Iterable[Any]) -> list[Tensor]:
    """The tensors among arguments, those in lists too."""
    found: list[Tensor] = []
    for one in given:
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, (List, Tuple)):
            found += _tensors_in(trace, one.unpacked(trace))
    return found


@implements(abstract.from_value)
def from_value(
    trace: Trace, node: torch.fx.Node, value: object, given: Iterable[Any] = ()
) -> Value:
    if isinstance(value, torch.Tensor):
        for one in given:
            if isinstance(one, Tensor) and one.value is value:
                return one
        return Tensor(node, value, None, _plain_class(value))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return symbol(trace, node, value)
    if is_literal(value) and not isinstance(value, tuple):
        return Constant(value + 0 if type(value) is int else value)  # a new object, as Python's
    if isinstance(value, (tuple, list)):
        given = list(given)
        return _like(trace, value, [_part(trace, node, i, v, given) for i, v in enumerate(value)])
    if isinstance(value, dict):
        given = list(given)
        return Dict({k: (Constant(k), _part(trace, node, k, v, given)) for k, v in value.items()})
    error = f"gives a {type(value).__name__}"
    raise Break(tensors.FAKE_FAILED, operator=str(node.target), error=error)


def _part(trace: Trace, node: torch.fx.Node, key: object, value: object, given: list[Any]) -> Any:
    """One element of a node's result."""
    if not _in_graph(value):
        return abstract.known(trace, value)
    return from_value(trace, trace.graph.getitem(node, key, value), value, given)


def _like(trace: Trace, value: object, items: list[Any]) -> Value:
    if type(value) is list:
        return List(items)
    if type(value) is torch.Size:
        return Size(items)
    if type(value) is tuple:
        return Tuple(items)
    return StructTuple(type(value), items)


def symbol(
    trace: Trace, node: torch.fx.Node, value: torch.SymInt | torch.SymFloat | torch.SymBool
) -> Value:
    """A symbolic number; a constant if torch knows its value."""
    known = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else None
    if known is not None:
        return Constant(known + 0)  # an object of its own, as each operation of Python makes one
    return Symbol(node, value)


# ---- attributes and methods


@implements(abstract.fold_torch)
def fold_torch(trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if any(holds_tensor(trace, a) for a in (*args, *kwargs.values())):
        given = torch.fx.map_arg([as_proxy(trace, a) for a in args], _fake_of)
        named = torch.fx.map_arg({k: as_proxy(trace, v) for k, v in kwargs.items()}, _fake_of)
        with trace.graph.fake:
            return abstract.folded(trace, lambda: real(*given, **named))
    result = abstract.fold(trace, real, args, kwargs)
    setting = isinstance(real, types.BuiltinFunctionType)
    if setting and not args and not kwargs and result.is_constant():
        abstract.guard_setting(trace, real)
    return result


@implements(abstract.tensor_rows)
def tensor_rows(trace: Trace, tensor: Tensor) -> list[Any]:
    if tensor.value.dim() == 0:
        abstract.raise_(trace, TypeError, "iteration over a 0-d tensor")
    count = abstract.tensor_length(trace, tensor)
    abstract.constant_value(trace, count)
    return abstract.unpack(
        trace, add_node(trace, "call_method", "unbind", [tensor, Constant(0)], {})
    )


@implements(abstract.tensor_to_number)
def tensor_to_number(trace: Trace, tensor: Tensor, method: str) -> Value:
    overridden = override_of_slot(trace, tensor, method, [])
    if overridden is not None:
        return overridden
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


def truth_from_data(trace: Trace, tensor: Tensor) -> Any:
    """The truth of a tensor as a symbol, for a graph that must be whole; None if it cannot be. A
    branch on it is a break all the same."""
    if abstract.known_number(trace, tensor) is not None or not config.capture_scalar_outputs:
        return None
    if tensor.value.dtype is not torch.bool:
        made = abstract.compare(trace, "!=", tensor, Constant(0))
        if not isinstance(made, Tensor):
            return None
        tensor = made
    return number_from_data(trace, tensor, "item")


@implements(abstract.graph_binary)
def graph_binary(trace: Trace, name: str, left: Value, right: Value) -> Value | None:
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
def graph_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Value | None:
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
    if type(value) is fake_tensors.FakeTensor:
        return torch.nn.Parameter if getattr(value, "_is_param", False) else torch.Tensor
    if is_traceable_wrapper_subclass(value):
        return type(value)
    if isinstance(value, torch.nn.Parameter):
        return torch.nn.Parameter
    return torch.Tensor
