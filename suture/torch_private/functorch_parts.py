"""Transforms of torch.func below their public surface."""

from __future__ import annotations

from typing import Any

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "vmap and grad inside of a graph",
    "2.11-2.15",
    {
        "grad_and_value": "torch._functorch.eager_transforms.grad_and_value_impl",
        "is_wrapped": "torch._C._functorch.is_functorch_wrapped_tensor",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)
