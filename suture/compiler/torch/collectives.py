"""torch.distributed: collectives that give a handle to wait on, and other managers of processes."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, contexts, distributed
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Function
from suture.torch_private import autograd_parts

_COLLECTIVES = """all_reduce all_gather all_gather_into_tensor all_to_all all_to_all_single barrier
    broadcast gather reduce reduce_scatter reduce_scatter_tensor scatter"""


def _collective(real: Any) -> None:
    """Asked with async_op=True it is left to Python; otherwise it is followed."""

    @handles(real)
    def handler(trace: Trace, args: Any, kwargs: Any) -> Any:
        later = kwargs.get("async_op")
        if later is not None and abstract.truth(trace, later):
            raise Break(distributed.ASYNC_COLLECTIVE, collective=real.__name__)
        return abstract.inline(trace, Function(real, abstract.pinned(trace, real)), args, kwargs)


if torch.distributed.is_available():
    for _name in _COLLECTIVES.split():
        _collective(getattr(torch.distributed, _name))


@handles(autograd_parts.preserve_version_counter)
def _version_counter(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(contexts.VERSION_COUNTER_MANAGER)
