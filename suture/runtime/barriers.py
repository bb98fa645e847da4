"""A barrier of torch.distributed, as graphs call it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch

from suture.torch_private import distributed_parts


def call_barrier(
    group: str,
    device_ids: list[int] | None = None,
    timeout: tuple[int, int, int] | None = None,
) -> None:
    """Wait until all ranks of the group of this name have come to a barrier. It is the one that
    programs call, so that a rank which runs plainly meets one that runs a graph. A timeout is given
    as days, seconds and microseconds."""
    if torch.compiler.is_exporting():
        raise RuntimeError("a barrier of torch.distributed cannot be exported")
    more: dict[str, Any] = {}
    if device_ids is not None:
        more["device_ids"] = list(device_ids)
    if timeout is not None:
        more["timeout"] = timedelta(*timeout)
    torch.distributed.barrier(group=distributed_parts.resolve_group(group), **more)
