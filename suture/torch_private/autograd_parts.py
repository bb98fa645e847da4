"""Autograd below its public surface."""

from __future__ import annotations

from typing import Any

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "autograd.Function and derivatives inside of a graph",
    "2.11-2.15",
    {
        "SingleLevelFunction": "torch.autograd.function._SingleLevelFunction",
        "data_of": "torch._C._autograd._get_data_attr",
        "forward_block": "torch.autograd.forward_ad._set_fwd_grad_enabled",
        "engine": "torch.autograd.Variable._execution_engine",
        "process_groups": "torch.distributed.distributed_c10d._world",
        "set_version_counter": "torch._C._autograd._unsafe_set_version_counter",
        "preserve_version_counter": "torch.autograd._unsafe_preserve_version_counter",
    },
)


DEFAULT_GROUP = "_default_pg"  # of `process_groups`: None where this process stands alone


def __getattr__(name: str) -> Any:
    return NAMES.get(name)
