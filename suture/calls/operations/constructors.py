"""Tensors made of Python numbers, lists and other tensors."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, calls, tensors
from suture.calls.operations.tensor_methods import method
from suture.calls.table import handles, special
from suture.torch_private import operators
from suture.variables import Constant, List, Size, Symbol, Tensor, Tuple
from suture.variables.arrays import Array


@special("make_tensor")
def _make_tensor(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    if data is not None and not isinstance(data, (Tensor, Array)) and holds_tensor(tx, data):
        if not _is_plain(tx, data, args[1:], kwargs):
            raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function=target.__name__, argument="tensors")
        return _of_parts(tx, data, kwargs)
    if target is not torch.scalar_tensor and _holds_symbol(tx, data):
        if _is_plain(tx, data, args[1:], kwargs):
            return _of_parts(tx, data, kwargs)
    if isinstance(data, Array):
        return _of_array(tx, target, data, args[1:], kwargs)
    return tx.call_torch(target, args, kwargs)


@method("new_tensor")
def _new_tensor(tx: Any, tensor: Tensor, args: Any, kwargs: Any) -> Any:
    """torch.tensor with the dtype and the device of a tensor, where no others are given."""
    data = args[0] if args else kwargs.get("data")
    if data is None or isinstance(data, Tensor) or not _holds_symbol(tx, data):
        return tx.add_node("call_method", "new_tensor", [tensor, *args], kwargs)
    named = {"dtype": Constant(tensor.value.dtype), "device": Constant(tensor.value.device)}
    named |= {k: v for k, v in kwargs.items() if not _is_none(v)}
    return _make_tensor(tx, torch.tensor, args, named)


def _is_none(value: Any) -> bool:
    return bool(value.is_constant()) and value.constant() is None


def _of_array(tx: Any, target: Any, array: Array, rest: Any, kwargs: Any) -> Any:
    """torch.tensor(array) copies; torch.as_tensor(array) looks at the same memory if it can."""
    known = {"dtype", "device", "requires_grad", "data"}
    wants = "requires_grad" in kwargs and tx.truth(kwargs["requires_grad"])
    here = torch.get_default_device().type == "cpu"
    copies = target is torch.tensor
    if rest or wants or not known.issuperset(kwargs) or not here or not (
        copies or (target is torch.as_tensor and not array.is_scalar)
    ):  # fmt: skip
        raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function=target.__name__, argument="an array")
    given = {k: v for k, v in kwargs.items() if k in ("dtype", "device")}
    named = {k: v for k, v in given.items() if tx.constant_value(v) is not None}
    made = tx.add_node("call_method", "detach", [array.tensor], {})
    if copies:
        named["copy"] = Constant(True)
    return tx.add_node("call_method", "to", [made], named) if named else made


def holds_tensor(tx: Any, data: Any) -> bool:
    """Whether a nest of lists has a tensor somewhere, or a scalar of NumPy that is one."""
    if isinstance(data, Tensor) or (isinstance(data, Array) and data.is_scalar):
        return True
    return isinstance(data, (List, Tuple)) and any(holds_tensor(tx, i) for i in data.unpacked(tx))


def _holds_symbol(tx: Any, data: Any) -> bool:
    """Whether a nest of lists has a symbolic number somewhere: torch.tensor takes its value."""
    if isinstance(data, Symbol):
        return True
    return isinstance(data, (List, Tuple)) and any(_holds_symbol(tx, i) for i in data.unpacked(tx))


def _is_plain(tx: Any, data: Any, rest: Any, kwargs: Any) -> bool:
    """Whether the tensor can be made of its parts: no more is asked than a dtype and a device."""
    known = {"dtype", "device", "requires_grad", "data"}
    wants = "requires_grad" in kwargs and tx.truth(kwargs["requires_grad"])
    return not (rest or wants) and known.issuperset(kwargs) and _stackable(tx, data)


def _of_parts(tx: Any, data: Any, kwargs: Any) -> Any:
    """torch.tensor([t, 1, u]): the numbers in one-element tensors, stacked."""
    given = tx.constant_value(kwargs["dtype"]) if "dtype" in kwargs else None
    dtype = given if given is not None else _common_dtype(tx, data)
    made = _stacked(tx, data, dtype)
    device = kwargs.get("device")
    if device is not None and tx.constant_value(device) is not None:
        made = tx.add_node("call_method", "to", [made, device], {})
    return made


def _stackable(tx: Any, data: Any) -> bool:
    if isinstance(data, Array):
        return bool(data.is_scalar)
    if isinstance(data, Tensor):
        return data.value.dim() == 0 or data.value.numel() == 1
    if isinstance(data, (List, Tuple)):
        items = data.unpacked(tx)
        return bool(items) and all(_stackable(tx, i) for i in items)
    return isinstance(data, Symbol) or (
        isinstance(data, Constant) and type(data.value) in (int, float, bool, complex)
    )


def _common_dtype(tx: Any, data: Any) -> torch.dtype:
    if isinstance(data, Array):
        return _common_dtype(tx, data.tensor)
    if isinstance(data, Tensor):
        found: torch.dtype = data.value.dtype
        return found
    if isinstance(data, (List, Tuple)):
        kinds = [_common_dtype(tx, i) for i in data.unpacked(tx)]
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


def _stacked(tx: Any, data: Any, dtype: torch.dtype) -> Any:
    if isinstance(data, Array):
        return _stacked(tx, data.tensor, dtype)
    if isinstance(data, Tensor):
        flat = tx.add_node("call_method", "detach", [data], {})
        flat = tx.add_node("call_method", "reshape", [flat, Tuple([])], {})
        return tx.add_node("call_method", "to", [flat, Constant(dtype)], {})
    if isinstance(data, (List, Tuple)):
        parts = [_stacked(tx, i, dtype) for i in data.unpacked(tx)]
        return tx.call_torch(torch.stack, [List(parts)], {})
    maker = torch.scalar_tensor if isinstance(data, Symbol) else torch.tensor
    return tx.call_torch(maker, [data], {"dtype": Constant(dtype)})


@handles(operators.shape_as_tensor)
def _shape_as_tensor(tx: Any, args: Any, kwargs: Any) -> Any:
    cpu, (of,) = {"device": Constant(torch.device("cpu"))}, args
    return _make_tensor(tx, torch.tensor, [List(list(tx.tensor_shape(of).items))], cpu)


@handles(torch.quantize_per_tensor, torch.quantize_per_channel, torch.quantize_per_tensor_dynamic)
def _quantize(tx: Any, args: Any, kwargs: Any) -> Any:
    """Their fake results are not quantized."""
    made = "what torch.quantize_per_tensor and its kin make"
    raise Break(tensors.FAKE_UNSUPPORTED, tensor=made, error="it is quantized")


@handles(torch.distributions.constraints.is_dependent)
def _is_dependent(tx: Any, args: Any, kwargs: Any) -> Any:
    """A question about a Python object, written in Python."""
    real = torch.distributions.constraints.is_dependent
    return tx.inline(tx.wrap(real, None), args, kwargs)


@special("tensor_class")
def _tensor_class(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """The old constructors: torch.Tensor(2, 3), torch.LongTensor([1, 2])."""
    dtype = getattr(target, "dtype", None)
    dtype = dtype if isinstance(dtype, torch.dtype) else torch.get_default_dtype()
    named = {"dtype": Constant(dtype)}
    if not kwargs and getattr(target, "is_cuda", False) is not True:
        if not args:
            return tx.call_torch(torch.empty, [Constant(0)], named)
        if all(_is_size(a) for a in args):
            return tx.call_torch(torch.empty, [Tuple(list(args))], named)
        if len(args) == 1 and isinstance(args[0], Size):
            return tx.call_torch(torch.empty, [args[0]], named)
        if len(args) == 1 and isinstance(args[0], (List, Tuple)):
            return _make_tensor(tx, torch.tensor, args, named)
    raise Break(calls.C_FUNCTION, function=target.__name__)


def _is_size(value: Any) -> bool:
    if isinstance(value, Symbol):
        return value.python_type() is int
    return isinstance(value, Constant) and type(value.value) is int
