"""What `__torch_function__` and the program take over of what tensors do."""

from __future__ import annotations

import types

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Tensor
from suture.compiler.torch.subclasses import PLAIN


def override_of_slot(trace: Trace, tensor: Tensor, method: str, args: list[Value]) -> Value | None:
    """What an override gives for a special method; None if there is none."""
    if not trace.modes.overridable_seen:
        return None
    return abstract.special_override(trace, tensor, method, args)


def put_by_program(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    """The function that the program has set in the class of plain tensors under a name; None if it
    has not. What the class has there is guarded."""
    raw = abstract.type_lookup(trace, tensor.cls, name)
    if tensor.cls not in PLAIN or type(raw) is not types.FunctionType:
        return None
    if (raw.__module__ or "").partition(".")[0] == "torch":
        return None
    return abstract.wrap(trace, raw, None)
