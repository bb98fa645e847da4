"""The first step of an optimizer, which makes the state that the later steps find."""

from __future__ import annotations

import torch

from suture.compiler.core import Trace
from suture.compiler.objects import Dict


def makes_optimizer_state(trace: Trace) -> bool:
    """Whether the region fills the empty state of an optimizer. That it was empty is guarded: the
    variant does not fit again, unless the program empties the state."""
    known = trace.outside.known
    for real, _ in list(known.values()):
        if not issubclass(type(real), torch.optim.Optimizer):
            continue
        state = real.__dict__.get("state")
        made = known.get(id(state), (None, None))[1]
        if (
            isinstance(made, Dict)
            and not state
            and made.entries
            and id(made) in trace.effects.touched
        ):
            return True
    return False
