"""Tensors below their public surface: the class in C, subclasses, tests of them, trees of them."""

from __future__ import annotations

from typing import Any

from suture.torch_private.table import Topic

_MODES = "torch.utils._python_dispatch"

NAMES = Topic(
    __name__,
    "tensors of subclasses",
    "2.11-2.15",
    {
        "TensorBase": "torch._C.TensorBase",
        "make_subclass": "torch.Tensor._make_subclass",
        "DisableTorchFunctionSubclass": "torch._C.DisableTorchFunctionSubclass",
        "EnableTorchFunction": "torch._C._EnableTorchFunction",
        "disabled_torch_function": "torch._C._disabled_torch_function_impl",
        "dispatch_keys": "torch._C._dispatch_keys",
        "TorchDispatchMode": f"{_MODES}.TorchDispatchMode",
        "is_traceable_wrapper_subclass": f"{_MODES}.is_traceable_wrapper_subclass",
        "DeviceContext": "torch.utils._device.DeviceContext",
        "device_constructors": "torch.utils._device._device_constructors",
        "pytree": "torch.utils._pytree",
        "broadcast_to_and_flatten": "torch.utils._pytree._broadcast_to_and_flatten",
        "empty_strided_cpu": "torch._C._dynamo.guards._empty_strided_cpu",
        "nonbracketed_mutation": "torch.backends.__allow_nonbracketed_mutation",
        "torch_numpy": "torch._numpy",
        "module_call": "torch.nn.Module._call_impl",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def is_view(tensor: Any) -> bool:
    """Whether autograd knows the tensor as a view of another one."""
    return bool(tensor._is_view())


def base_of(tensor: Any) -> Any:
    """What a tensor is a view of; None where it is none."""
    return getattr(tensor, "_base", None)


def version_of(tensor: Any) -> int:
    """How often a tensor was written to; tensors made in inference mode do not count."""
    return 0 if tensor.is_inference() else int(tensor._version)


def storage_key(tensor: Any) -> int:
    """A number that tensors share whose memory is the same. It holds while one of them lives."""
    return int(tensor.untyped_storage()._cdata)


# Where a leaf keeps the hooks that the engine calls when it comes to it. Those of the second kind
# it calls even where there is no gradient.
LEAF_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def has_backward_hooks(tensor: Any) -> bool:
    """Whether hooks of the program wait for the derivative of a tensor."""
    return tensor._backward_hooks is not None


def has_leaf_hooks(leaf: Any) -> bool:
    """Whether the engine calls hooks of the program when it comes to a leaf."""
    return any(getattr(leaf, name) is not None for name in LEAF_HOOKS)
