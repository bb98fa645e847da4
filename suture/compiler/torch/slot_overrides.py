"""What `__torch_function__` and the program take over of what tensors do."""

from __future__ import annotations

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Tensor
from suture.compiler.torch.subclasses import put_by_program


def override_of_slot(trace: Trace, tensor: Tensor, method: str, args: list[Value]) -> Value | None:
    """What an override gives for a special method; None if there is none."""
    own = put_by_program(trace, tensor, method)
    if own is not None:
        return abstract.finish(trace, abstract.tail_call(trace, own, [tensor, *args], {}))
    if not trace.modes.overridable_seen:
        return None
    return abstract.special_override(trace, tensor, method, args)
