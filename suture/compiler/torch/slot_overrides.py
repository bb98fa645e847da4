"""What `__torch_function__` may take over of Python's operations on tensors."""

from __future__ import annotations

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Tensor


def override_of_slot(trace: Trace, tensor: Tensor, method: str, args: list[Value]) -> Value | None:
    """What an override gives for a special method; None if there is none."""
    if not trace.modes.overridable_seen:
        return None
    return abstract.special_override(trace, tensor, method, args)
