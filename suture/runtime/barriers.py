"""A barrier of torch.distributed, as graphs call it."""

from __future__ import annotations

import torch

from suture.torch_private import distributed_parts


def call_barrier(group: str) -> None:
    """Wait until all ranks of the group of this name have come to a barrier. It is the one that
    programs call, so that a rank which runs plainly meets one that runs a graph."""
    if torch.compiler.is_exporting():
        raise RuntimeError("a barrier of torch.distributed cannot be exported")
    torch.distributed.barrier(group=distributed_parts.resolve_group(group))
