"""Settings of torch's backends that programs switch for a block: pairs of a setter, which takes one
argument, and what reads it. A pair of which something is gone is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "switching settings of torch's backends inside of a graph",
    "2.11-2.15",
    {
        "set_cublas_allow_tf32": "torch._C._set_cublas_allow_tf32",
        "get_cublas_allow_tf32": "torch._C._get_cublas_allow_tf32",
        "set_cudnn_enabled": "torch._C._set_cudnn_enabled",
        "get_cudnn_enabled": "torch._C._get_cudnn_enabled",
        "set_cudnn_benchmark": "torch._C._set_cudnn_benchmark",
        "get_cudnn_benchmark": "torch._C._get_cudnn_benchmark",
        "set_cudnn_deterministic": "torch._C._set_cudnn_deterministic",
        "get_cudnn_deterministic": "torch._C._get_cudnn_deterministic",
        "set_cudnn_allow_tf32": "torch._C._set_cudnn_allow_tf32",
        "get_cudnn_allow_tf32": "torch._C._get_cudnn_allow_tf32",
        "set_cudnn_depthwise_kernel": ("torch._C._set_cudnn_depthwise_kernel", "2.13-2.15"),
        "get_cudnn_depthwise_kernel": ("torch._C._get_cudnn_depthwise_kernel", "2.13-2.15"),
        "set_mkldnn_enabled": "torch._C._set_mkldnn_enabled",
        "get_mkldnn_enabled": "torch._C._get_mkldnn_enabled",
        "set_mkldnn_deterministic": "torch._C._set_mkldnn_deterministic",
        "get_mkldnn_deterministic": "torch._C._get_mkldnn_deterministic",
        "set_onednn_allow_tf32": "torch._C._set_onednn_allow_tf32",
        "get_onednn_allow_tf32": "torch._C._get_onednn_allow_tf32",
        "set_sdp_priority_order": "torch._C._set_sdp_priority_order",
        "get_sdp_priority_order": "torch._C._get_sdp_priority_order",
        "set_multithreading_enabled": "torch._C._set_multithreading_enabled",
        "is_multithreading_enabled": "torch._C._is_multithreading_enabled",
    },
)

ATTENTION = Topic(
    __name__,
    "switching kernels of scaled_dot_product_attention inside of a graph",
    "2.11-2.15",
    {
        "set_sdp_use_flash": "torch._C._set_sdp_use_flash",
        "get_flash_sdp_enabled": "torch._C._get_flash_sdp_enabled",
        "set_sdp_use_mem_efficient": "torch._C._set_sdp_use_mem_efficient",
        "get_mem_efficient_sdp_enabled": "torch._C._get_mem_efficient_sdp_enabled",
        "set_sdp_use_math": "torch._C._set_sdp_use_math",
        "get_math_sdp_enabled": "torch._C._get_math_sdp_enabled",
        "set_sdp_use_cudnn": "torch._C._set_sdp_use_cudnn",
        "get_cudnn_sdp_enabled": "torch._C._get_cudnn_sdp_enabled",
        "set_sdp_use_overrideable": "torch._C._set_sdp_use_overrideable",
        "get_overrideable_sdp_enabled": "torch._C._get_overrideable_sdp_enabled",
    },
)


def __getattr__(name: str) -> Any:
    return (ATTENTION if name in ATTENTION.names else NAMES).get(name)


def pairs(topic: Topic) -> Iterator[tuple[Any, Any]]:
    """The (setter, getter) pairs of a table that this torch has."""
    ours = list(topic.names)
    for names in zip(ours[::2], ours[1::2]):
        setter, getter = (topic.get(name) for name in names)
        if not is_missing(setter) and not is_missing(getter):
            yield setter, getter


# The order in which kernels of attention are tried. On newer GPUs torch itself puts cuDNN's first,
# when it chooses one for the first time: both are what a program gets that asks for nothing.
_ORDERS = ("[1, 2, 0, 3, 4]", "[3, 1, 2, 0, 4]")
_BY_DEFAULT = "torch's own order"


def compiled_in() -> dict[str, str]:
    """The settings of torch's backends now, as text, by the name of what reads them."""
    found = {}
    for topic in (NAMES, ATTENTION):
        for _, getter in pairs(topic):
            now = repr(getter())
            found[getter.__name__] = _BY_DEFAULT if now in _ORDERS else now
    found["float32_matmul_precision"] = torch.get_float32_matmul_precision()
    found["num_threads"] = str(torch.get_num_threads())
    return found
