"""Fake tensors: what stands for a tensor while a region is traced, and what torch says about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.torch_private import tensor_parts
from suture.torch_private.table import Topic

_FAKE = "torch._subclasses.fake_tensor"

NAMES = Topic(
    __name__,
    "tracing at all",
    "2.11-2.15",
    {
        "FakeTensor": f"{_FAKE}.FakeTensor",
        "FakeTensorMode": f"{_FAKE}.FakeTensorMode",
        "DataDependentOutputException": f"{_FAKE}.DataDependentOutputException",
        "DynamicOutputShapeException": f"{_FAKE}.DynamicOutputShapeException",
        "UnsupportedOperatorException": f"{_FAKE}.UnsupportedOperatorException",
        "enable_python_dispatcher": "torch._dispatch.python.enable_python_dispatcher",
        "TorchSource": "torch._guards.Source",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def maker(mode: Any) -> Callable[[Any, Any], Any]:
    """What makes a fake tensor of `mode`, of a new tensor without data and a device that another
    one of the mode has: `FakeTensor(mode, tensor, device)`, without looking at the arguments again
    where torch's constructor does what is known of it, as the first one shows: then it becomes
    the `make` of the mode."""

    def plain(tensor: Any, device: Any) -> Any:
        return NAMES.get("FakeTensor")(mode, tensor, device)

    def make(tensor: Any, device: Any) -> Any:
        first = plain(tensor, device)
        found = _constructor(mode, first, device)
        mode.make = found if found and _is_same(first, found(tensor, device)) else plain
        return first

    return make


def _is_same(one: Any, other: Any) -> bool:
    keys = tensor_parts.dispatch_keys
    return (
        vars(one) == vars(other)
        and type(one) is type(other)
        and keys(one).raw_repr() == keys(other).raw_repr()
    )


# What the constructor sets below Python, which cannot be read back: which one, a mode says.
_SETS: dict[Any, str] = {  # seen in 2.13
    False: "_set_throw_on_mutable_data_ptr",
    True: "_set_warn_deprecated_on_mutable_data_ptr",
}


def _constructor(mode: Any, first: Any, device: Any) -> Callable[[Any, Any], Any] | None:
    """The constructor with what it gave `first` for granted; None if it is not the known one."""
    cls, attributes = type(first), dict(vars(first))
    names = getattr(getattr(cls.__new__, "__code__", None), "co_names", ())
    at = [name for name, value in attributes.items() if value == device]
    which = _SETS.get(getattr(mode, "_allow_unsafe_data_ptr_access", None), "")
    set_up, subclass = getattr(torch._C, which, None), tensor_parts.make_subclass
    if {n for n in names if n.startswith("_set")} != {*_SETS.values()} or len(at) != 1:
        return None
    if set_up is None:
        return None

    def make(tensor: Any, device: Any) -> Any:
        if torch.compiler.is_exporting():  # which counts them
            return cls(mode, tensor, device)
        made = subclass(cls, tensor, False, dispatch_device=True, device_for_backend_keys=device)
        set_up(made)
        held = made.__dict__
        held.update(attributes)
        held[at[0]] = device
        return made

    return make
