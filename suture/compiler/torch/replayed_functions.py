"""Functions of autograd as two graphs: forward and backward.

Where a graph cannot hold what a torch.autograd.Function works with (objects, lists, tensors of
closures), a Function made of its traced forward and backward is in the graph instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from suture.torch_private import autograd_parts


@dataclass(slots=True, eq=False)
class Plan:
    """How the flat values of forward and backward hang together.

    Forward takes `direct` tensors, then `lifted` values; it gives `outputs` tensors, then `saved`
    tensors and other values that backward needs. `grads` says for each direct tensor which result
    of backward is its gradient."""

    name: str
    direct: int
    lifted: int
    outputs: int
    saved: int
    grads: list[int | None]
    constant: list[int]  # outputs that are marked as not differentiable
    once: bool  # whether backward can be differentiated no further


class ReplayedFunction(torch.nn.Module):
    """Called with the direct tensors, what forward lifted and what backward lifted."""

    def __init__(self, forward: Any, backward: Any, plan: Plan) -> None:
        super().__init__()
        self.bodies = (forward, backward)
        self.plan = plan
        self.function = _function_of(forward, backward, plan)

    def __reduce__(self) -> Any:
        return ReplayedFunction, (*self.bodies, self.plan)  # for Inductor's cache

    def __call__(self, *flat: Any) -> Any:
        return self.forward(*flat)  # hooks on all modules are about those of the program

    def forward(self, *flat: Any) -> Any:
        count = self.plan.direct
        # autograd knows the direct tensors only: the others get no gradient
        others = [v.detach() if isinstance(v, torch.Tensor) else v for v in flat[count:]]
        made = self.function.apply(*flat[:count], *others)
        autograd_parts.note_kept(made)
        return made


def _function_of(run_forward: Any, run_backward: Any, plan: Plan) -> Any:
    """The class of the Function that runs these two graphs."""
    taken = plan.direct + plan.lifted

    def forward(ctx: Any, *flat: Any) -> Any:
        values = run_forward.forward(*flat[:taken])
        outputs, held = values[: plan.outputs], values[plan.outputs :]
        ctx.save_for_backward(*held[: plan.saved])
        ctx.kept = (*held[plan.saved :], *flat[taken:])
        ctx.others = len(flat) - plan.direct
        ctx.mark_non_differentiable(*(outputs[i] for i in plan.constant))
        return tuple(outputs)

    def backward(ctx: Any, *grads: Any) -> Any:
        found = run_backward.forward(*grads, *ctx.saved_tensors, *ctx.kept)
        given = [None if i is None else found[i] for i in plan.grads]
        return (*given, *[None] * ctx.others)

    if run_backward is None:
        return autograd_parts.function_class(plan.name, forward)
    once = once_differentiable(backward) if plan.once else backward
    return autograd_parts.function_class(plan.name, forward, once)
