"""Methods and attributes of tensors that are more than one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.breaks import Break, tensor_methods, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph.derivatives import Retained
from suture.compiler.graph.reshaped import keep_shape
from suture.compiler.models import handles
from suture.compiler.objects import Class, Constant, Size, Tensor
from suture.compiler.objects.tensor_parameter import SwitchedLeaf
from suture.compiler.torch.derivatives import is_plain
from suture.compiler.torch.new_data import set_data
from suture.compiler.torch.offsets import guarded_view
from suture.compiler.torch.parameters import make_leaf_in_place
from suture.torch_private import autograd_parts
from suture.torch_private.symbolic_shapes import has_free_unbacked_symbols


@handles("Tensor.retain_grad")
def _retain_grad(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if tensor.value.is_leaf and tensor.value.requires_grad and tensor.source is not None:
        return Constant(None)
    refused = Break(tensor_methods.RETAIN_GRAD, tensor=tensor.describe())
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    plain = is_plain(tensor) and type(tensor) is Tensor and tensor.cls is torch.Tensor
    computed = plain and tensor.source is None and tensor.value.grad_fn is not None
    if not computed or args or kwargs or position in trace.region.plan.by_python:
        raise refused
    if len(trace.graph.levels.stack) > 1:
        raise refused
    if tensor.attrs is None or "retains_grad" not in tensor.attrs:
        # Not noted as a change of the tensor: it may not leave the region.
        kept = {"retains_grad": Constant(True), "grad": Constant(None)}
        tensor.attrs = {**(tensor.attrs or {}), **kept}
        trace.graph.derivatives.retained.append(Retained(tensor, position))
    return Constant(None)


@handles("Tensor.requires_grad_")
def _requires_grad(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Nothing to do if the tensor is so already. Else a graph cannot say it: a leaf must be a
    tensor that exists outside of the graph."""
    if len(args) + len(kwargs) > 1 or not kwargs.keys() <= {"requires_grad"}:
        return abstract.add_node(
            trace, "call_method", "requires_grad_", [tensor, *args], kwargs
        )  # raises
    given = args[0] if args else kwargs.get("requires_grad", Constant(True))
    if _switch(trace, tensor, given) or bool(tensor.value.requires_grad) == abstract.truth(
        trace, given
    ):
        return tensor
    refused = _refused(tensor, "requires_grad_")
    return _require_grad(trace, tensor, given, refused)


def _refused(tensor: Tensor, method: str) -> Break:
    return Break(tensor_methods.REQUIRES_GRAD_CALL, tensor=tensor.describe(), method=method)


@handles("Tensor.detach_")
def _detach_in_place(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Of an input it is nothing, or a change that compilers do not make; of a view it raises."""
    if tensor.source is not None and tensor.example is not None:
        if guarded_view(trace, tensor) or tensor.value.requires_grad:
            raise _refused(tensor, "detach_")
    return abstract.add_node(trace, "call_method", "detach_", [tensor, *args], kwargs)


@handles(torch.detach_)
def _detach_function(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args or not isinstance(args[0], Tensor):
        return abstract.call_torch(trace, torch.detach_, args, kwargs)
    return abstract.tensor_method(trace, args[0], "detach_", args[1:], kwargs)


def _require_grad(trace: Trace, tensor: Tensor, given: Value, refused: Break) -> Value:
    """Set requires_grad to what it is not yet; Break if Python has to do it."""
    if tensor.source is None and tensor.value.is_leaf and not torch.is_grad_enabled():
        return abstract.add_node(trace, "call_method", "requires_grad_", [tensor, given], {})
    if not abstract.truth(trace, given):
        raise refused
    make_leaf_in_place(trace, tensor, refused)
    return tensor


def _switch(trace: Trace, tensor: Tensor, given: Any) -> bool:
    """Set requires_grad of a parameter from outside when the region ends; False if that is no
    parameter, or if there is nothing to do."""
    wanted = given.constant() if given.is_constant() else None
    if type(tensor) is SwitchedLeaf and tensor.attrs is not None and isinstance(wanted, bool):
        trace.effects.touch(tensor)
        tensor.attrs["requires_grad"] = given
        return True
    if type(tensor) is not Tensor or tensor.cls is not torch.nn.Parameter:
        return False
    value = tensor.value
    changes = isinstance(wanted, bool) and wanted is not bool(value.requires_grad)
    number = value.is_floating_point() or value.is_complex()
    if not changes or tensor.source is None or not value.is_leaf or not number:
        return False
    abstract.guard_history(trace, tensor)
    trace.effects.touch(tensor)
    tensor.attrs = {**(tensor.attrs or {}), "requires_grad": given}
    tensor.__class__ = SwitchedLeaf
    return True


@handles("Tensor.new")
def _new(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A size says the shape, a plain tuple the numbers: graphs know only plain tuples."""
    if len(args) == 1 and isinstance(args[0], Size):
        args = list(args[0].unpacked(trace))
    return abstract.add_node(trace, "call_method", "new", [tensor, *args], kwargs)


@handles("Tensor.type")
def _type(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Graphs have no classes such as torch.HalfTensor; the name says the same."""
    if args and isinstance(args[0], Class) and isinstance(args[0].value, type(torch.FloatTensor)):
        cls = args[0].value
        args = [Constant(f"{cls.__module__}.{cls.__name__}"), *args[1:]]
    return abstract.add_node(trace, "call_method", "type", [tensor, *args], kwargs)


@handles("Tensor.resize_")
def _resize(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(tensor_methods.RESIZE, tensor=tensor.describe())


def _reshape_in_place(name: str) -> Callable[..., Any]:
    """A method that gives the tensor itself another shape, as it has from then on."""

    def reshape(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if tensor.source is not None and not keep_shape(trace.graph, tensor.node):
            text = tensor.describe()
            raise Break(tensor_methods.RESHAPED_PART, tensor=text, method=name)
        return abstract.tensor_node(trace, tensor, name, args, kwargs)

    return reshape


for _name in (
    "as_strided_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"
):  # fmt: skip
    handles(f"Tensor.{_name}")(_reshape_in_place(_name))


def _left_to_python(entry: Any) -> Callable[..., Any]:
    """A method that breaks, always for the same reason."""

    def refuse(trace: Trace, tensor: Tensor, args: Sequence[Value], kwargs: Any) -> Value:
        raise Break(entry, tensor=tensor.describe())

    return refuse


for _name, _entry in (
    ("resize_as_", tensor_methods.RESIZE_AS),
    ("sparse_resize_", tensor_methods.SPARSE_RESIZE),
    ("sparse_resize_and_clear_", tensor_methods.SPARSE_CLEAR),
):
    handles(f"Tensor.{_name}")(_left_to_python(_entry))


@handles("Tensor.set_")
def _set(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A tensor without history that is made here shows the memory of another from then on. Who
    holds a tensor from outside would see that it was written, also by its version."""
    refused = Break(tensor_methods.SET, tensor=tensor.describe())
    if len(args) != 1 or kwargs or tensor.source is not None or not isinstance(args[0], Tensor):
        raise refused
    if args[0].value.requires_grad or args[0].value.dtype != tensor.value.dtype:
        raise refused
    set_data(trace, tensor, args[0], refused)
    return tensor


@handles("Tensor.__deepcopy__")
def _deepcopy(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A copy of a plain tensor with the same strides; the others Python copies. What was copied
    before, the caller's memo says."""
    plain = tensor.cls is torch.Tensor and not tensor.value.requires_grad and not tensor.attrs
    if not plain or (tensor.example is not None and tensor.example.__dict__):
        raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute="__deepcopy__")
    return abstract.add_node(trace, "call_method", "clone", [tensor], {})


@handles("Tensor.dim_order")
def _dim_order(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """How strides compare that come from data, torch assumes: only Python knows."""
    if any(map(has_free_unbacked_symbols, (*tensor.value.shape, *tensor.value.stride()))):
        raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute="dim_order")
    return abstract.tensor_node(trace, tensor, "dim_order", args, kwargs)


@handles(
    "Tensor.storage",
    "Tensor._typed_storage",
    "Tensor.data_ptr",
    "Tensor.storage_type",
    "Tensor.is_shared",
)
def _storage(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute="storage")


@handles(
    "Tensor.__dir__",
    "Tensor.__reduce_ex__",
    "Tensor.__reduce__",
    "Tensor.__setstate__",
    "Tensor.__dlpack__",
    "Tensor.share_memory_",
)
def _object_method(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute="object protocol")


def _is_data_of(value: Tensor, tensor: Tensor) -> bool:
    """Whether `value` is `tensor.data` itself, as conversions that have nothing to do leave it."""
    node = value.node
    if node is tensor.node:
        return True
    return node.target is autograd_parts.data_of and node.args[0] is tensor.node


def set_attribute(trace: Trace, tensor: Tensor, name: str, value: Value) -> None:
    """`tensor.name = value`: kept next to the tensor and put back when the region ends."""
    if (
        trace.modes.overridable_seen
        and abstract.field_override(trace, tensor, name, value) is not None
    ):
        return
    if name == "data":
        if isinstance(value, Tensor) and _is_data_of(value, tensor):
            return
        if isinstance(value, Tensor) and value.value.dtype != tensor.value.dtype:
            dtype = str(value.value.dtype)
            raise Break(tensor_methods.SET_DATA_DTYPE, tensor=tensor.describe(), dtype=dtype)
        refused = Break(tensor_methods.SET_DATA, tensor=tensor.describe())
        set_data(trace, tensor, value, refused)
        return
    if name == "requires_grad":
        known = value.is_constant() and isinstance(value.constant(), bool)
        if _switch(trace, tensor, value):
            return
        if known and value.constant() == bool(tensor.value.requires_grad):
            return
        text = str(value.constant()) if known else value.describe()
        refused = Break(tensor_methods.REQUIRES_GRAD_SET, tensor=tensor.describe(), value=text)
        if not known or tensor.source is not None:
            raise refused
        _require_grad(trace, tensor, value, refused)
        return
    if tensor.cls not in _PLAIN and abstract.set_in_class(trace, tensor, name, value):
        return
    is_grad = name == "grad" and tensor.value.is_leaf
    if is_grad and not _fits_as_grad(tensor, value):
        raise Break(tensor_methods.SET_ATTRIBUTE, tensor=tensor.describe(), attribute=name)
    if not is_grad and hasattr(torch.Tensor, name):
        raise Break(tensor_methods.SET_ATTRIBUTE, tensor=tensor.describe(), attribute=name)
    keep_attribute(trace, tensor, name, value)


def keep_attribute(trace: Trace, tensor: Tensor, name: str, value: Value) -> None:
    """Keep what an attribute of a tensor is from here on: it is set when the region ends."""
    trace.effects.touch(tensor)
    if tensor.attrs is None:
        tensor.attrs = {}
    tensor.attrs[name] = value


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _fits_as_grad(tensor: Tensor, value: Any) -> bool:
    if value.is_constant():
        return bool(value.constant() is None)
    return (
        isinstance(value, Tensor)
        and tuple(value.value.shape) == tuple(tensor.value.shape)
        and value.value.dtype == tensor.value.dtype
        and value.value.device == tensor.value.device
        and not value.value.requires_grad
    )
