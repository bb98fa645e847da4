"""Fake tensors: what stands for a tensor while a region is traced, and what torch says about it."""

from __future__ import annotations

from typing import Any

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
