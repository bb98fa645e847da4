"""Tensors made of Python numbers, lists and other tensors."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, calls, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, List, Size, Symbol, Tensor, Tuple
from suture.compiler.objects.array import Array
from suture.compiler.torch.array_tensors import same_memory
from suture.torch_private import operators

# torch.tensor makes infinities of floats that are too large for these; torch.scalar_tensor raises.
_NARROW = (torch.float32, torch.complex64)


@handles("make_tensor")
def _make_tensor(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    if data is not None and not isinstance(data, (Tensor, Array)) and holds_tensor(trace, data):
        if not _is_plain(trace, data, args[1:], kwargs):
            raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function=target.__name__, argument="tensors")
        return _of_parts(trace, data, kwargs)
    if target is not torch.scalar_tensor and data is not None and _holds_symbol(trace, data):
        if _is_plain(trace, data, args[1:], kwargs):
            return _of_parts(trace, data, kwargs)
    if isinstance(data, Array):
        return _of_array(trace, target, data, args[1:], kwargs)
    if target is not torch.scalar_tensor and _is_none(kwargs.get("dtype", Constant(None))):
        dtype = _dtype_of_scalars(trace, data)
        if dtype is not None:
            kwargs = {**kwargs, "dtype": Constant(dtype)}
    return abstract.call_torch(trace, target, args, kwargs)


def _dtype_of_scalars(trace: Trace, data: Any) -> torch.dtype | None:
    """The dtype that torch gives scalars of NumPy, which are plain numbers in a graph; None if
    there are none."""
    if not _holds_numpy(trace, data):
        return None
    try:
        return torch.tensor(abstract.constant_value(trace, data)).dtype
    except (TypeError, ValueError, RuntimeError):
        raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function="tensor", argument="data") from None


def _holds_numpy(trace: Trace, data: object) -> bool:
    if isinstance(data, (List, Tuple)):
        return any(_holds_numpy(trace, i) for i in data.unpacked(trace))
    return isinstance(data, Constant) and type(data.value).__module__ == "numpy"


@handles("Tensor.new_tensor")
def _new_tensor(trace: Trace, tensor: Tensor, args: list[Value], kwargs: Any) -> Value:
    """torch.tensor with the dtype and the device of a tensor, where no others are given."""
    data = args[0] if args else kwargs.get("data")
    if data is None or isinstance(data, Tensor) or not _holds_symbol(trace, data):
        return abstract.add_node(trace, "call_method", "new_tensor", [tensor, *args], kwargs)
    named: dict[str, Value] = {
        "dtype": Constant(tensor.value.dtype),
        "device": Constant(tensor.value.device),
    }
    named |= {k: v for k, v in kwargs.items() if not _is_none(v)}
    return _make_tensor(trace, torch.tensor, args, named)


def _is_none(value: Any) -> bool:
    return bool(value.is_constant()) and value.constant() is None


def _of_array(
    trace: Trace, target: Any, array: Array, rest: object, kwargs: dict[str, Value]
) -> Value:
    """torch.tensor(array) copies; torch.as_tensor(array) looks at the same memory if it can."""
    known = {"dtype", "device", "requires_grad", "data"}
    wants = "requires_grad" in kwargs and abstract.truth(trace, kwargs["requires_grad"])
    here = torch.get_default_device().type == "cpu"
    copies = target is torch.tensor
    if rest or wants or not known.issuperset(kwargs) or not here or not (
        copies or (target is torch.as_tensor and not array.is_scalar)
    ):  # fmt: skip
        raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function=target.__name__, argument="an array")
    given = {k: v for k, v in kwargs.items() if k in ("dtype", "device")}
    named = {k: v for k, v in given.items() if abstract.constant_value(trace, v) is not None}
    made = same_memory(trace, array.tensor)
    if copies:
        named["copy"] = Constant(True)
    return abstract.add_node(trace, "call_method", "to", [made], named) if named else made


def holds_tensor(trace: Trace, data: Value) -> bool:
    """Whether it is a tensor or an array, or a nest of lists with one somewhere."""
    if isinstance(data, (Tensor, Array)):
        return True
    return isinstance(data, (List, Tuple)) and any(
        holds_tensor(trace, i) for i in data.unpacked(trace)
    )


def _holds_symbol(trace: Trace, data: object) -> bool:
    """Whether a nest of lists has a symbolic number somewhere: torch.tensor takes its value."""
    if isinstance(data, Symbol):
        return True
    return isinstance(data, (List, Tuple)) and any(
        _holds_symbol(trace, i) for i in data.unpacked(trace)
    )


def _is_plain(trace: Trace, data: object, rest: object, kwargs: dict[str, Value]) -> bool:
    """Whether the tensor can be made of its parts: no more is asked than a dtype and a device."""
    known = {"dtype", "device", "requires_grad", "data"}
    wants = "requires_grad" in kwargs and abstract.truth(trace, kwargs["requires_grad"])
    return not (rest or wants) and known.issuperset(kwargs) and _stackable(trace, data)


def _of_parts(trace: Trace, data: Value, kwargs: dict[str, Value]) -> Value:
    """torch.tensor([t, 1, u]): the numbers in one-element tensors, stacked."""
    given = abstract.constant_value(trace, kwargs["dtype"]) if "dtype" in kwargs else None
    dtype = given if given is not None else _common_dtype(trace, data)
    made = _stacked(trace, data, dtype)
    device = kwargs.get("device")
    if device is not None and abstract.constant_value(trace, device) is not None:
        made = abstract.add_node(trace, "call_method", "to", [made, device], {})
    return made


def _stackable(trace: Trace, data: object) -> bool:
    if isinstance(data, Array):
        return True
    if isinstance(data, Tensor):
        return bool(data.value.dim() == 0 or data.value.numel() == 1)
    if isinstance(data, (List, Tuple)):
        items = data.unpacked(trace)
        if any(isinstance(i, Array) and not i.is_scalar for i in items):
            return _have_one_shape(items)
        return bool(items) and all(_stackable(trace, i) for i in items)
    return isinstance(data, Symbol) or (
        isinstance(data, Constant) and type(data.value) in (int, float, bool, complex)
    )


def _have_one_shape(items: list[Any]) -> bool:
    """Whether all are arrays of one shape, which is known."""
    if not all(isinstance(i, Array) for i in items):
        return False
    shapes = [tuple(i.tensor.value.shape) for i in items]
    return all(type(n) is int for s in shapes for n in s) and len(set(shapes)) == 1


def _common_dtype(trace: Trace, data: Any) -> torch.dtype:
    if isinstance(data, Array):
        return _common_dtype(trace, data.tensor)
    if isinstance(data, Tensor):
        found: torch.dtype = data.value.dtype
        return found
    if isinstance(data, (List, Tuple)):
        kinds = [_common_dtype(trace, i) for i in data.unpacked(trace)]
        common = kinds[0]
        for kind in kinds[1:]:
            common = torch.promote_types(common, kind)
        return common
    kind = data.python_type()
    if kind is float:
        return torch.get_default_dtype()
    if kind is complex:
        return torch.promote_types(torch.get_default_dtype(), torch.complex32)
    return torch.bool if kind is bool else torch.int64


def _stacked(trace: Trace, data: Value, dtype: torch.dtype) -> Value:
    if isinstance(data, Array) and not data.is_scalar:
        made = abstract.add_node(trace, "call_method", "detach", [data.tensor], {})
        return abstract.add_node(trace, "call_method", "to", [made, Constant(dtype)], {})
    if isinstance(data, Array):
        return _stacked(trace, data.tensor, dtype)
    if isinstance(data, Tensor):
        flat = abstract.add_node(trace, "call_method", "detach", [data], {})
        flat = abstract.add_node(trace, "call_method", "reshape", [flat, Tuple([])], {})
        return abstract.add_node(trace, "call_method", "to", [flat, Constant(dtype)], {})
    if isinstance(data, (List, Tuple)):
        parts = [_stacked(trace, i, dtype) for i in data.unpacked(trace)]
        return abstract.call_torch(trace, torch.stack, [List(parts)], {})
    if not isinstance(data, Symbol):
        return abstract.call_torch(trace, torch.tensor, [data], {"dtype": Constant(dtype)})
    if data.python_type() is float and dtype in _NARROW:
        made = _stacked(trace, data, torch.float64)
        return abstract.add_node(trace, "call_method", "to", [made, Constant(dtype)], {})
    return abstract.call_torch(trace, torch.scalar_tensor, [data], {"dtype": Constant(dtype)})


@handles(operators.shape_as_tensor)
def _shape_as_tensor(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cpu: dict[str, Value] = {"device": Constant(torch.device("cpu"))}
    (of,) = args
    return _make_tensor(
        trace, torch.tensor, [List(list(abstract.tensor_shape(trace, of).items))], cpu
    )


@handles(torch.quantize_per_tensor, torch.quantize_per_channel, torch.quantize_per_tensor_dynamic)
def _quantize(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Their fake results are not quantized."""
    made = "what torch.quantize_per_tensor and its kin make"
    raise Break(tensors.FAKE_UNSUPPORTED, tensor=made, error="it is quantized")


@handles(torch.distributions.constraints.is_dependent)
def _is_dependent(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A question about a Python object, written in Python."""
    real = torch.distributions.constraints.is_dependent
    return abstract.inline(trace, abstract.wrap(trace, real, None), args, kwargs)


@handles("tensor_class")
def _tensor_class(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The old constructors: torch.Tensor(2, 3), torch.LongTensor([1, 2])."""
    dtype = getattr(target, "dtype", None)
    dtype = dtype if isinstance(dtype, torch.dtype) else torch.get_default_dtype()
    named: dict[str, Value] = {"dtype": Constant(dtype)}
    if not kwargs and getattr(target, "is_cuda", False) is not True:
        if not args:
            return abstract.call_torch(trace, torch.empty, [Constant(0)], named)
        if all(_is_size(a) for a in args):
            return abstract.call_torch(trace, torch.empty, [Tuple(list(args))], named)
        if len(args) == 1 and isinstance(args[0], Size):
            return abstract.call_torch(trace, torch.empty, [args[0]], named)
        if len(args) == 1 and isinstance(args[0], (List, Tuple)):
            return _make_tensor(trace, torch.tensor, args, named)
    raise Break(calls.C_FUNCTION, function=target.__name__)


def _is_size(value: object) -> bool:
    if isinstance(value, Symbol):
        return value.python_type() is int
    return isinstance(value, Constant) and type(value.value) is int
