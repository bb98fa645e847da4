"""What the core in C looks up by itself (csrc/guard_configure.c, csrc/guard_layout.c)."""

from __future__ import annotations

from typing import Any

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "guards on tensors",
    "2.11-2.15",
    {
        "DisableTorchFunction": "torch._C.DisableTorchFunction",
        "disable_current_modes": "torch.utils._python_dispatch._disable_current_modes",
        "dispatch_keys": "torch._C._dispatch_keys",
        "mode_depth": "torch._C._len_torch_function_stack",
        "tensor_address": "torch._C.TensorBase._cdata",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)
