"""An autograd function over two graphs that an earlier process compiled.

It does what AOTAutograd's does for graphs without anything around them (`Training.legal`): run the
forward code, save tensors, mark results without a derivative; bring derivatives into the layout
that the backward code was compiled for, and run that. What both graphs are is in `facts`, as
`torch_private.aot_training` describes it.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.runtime.callers.caller import Run
from suture.runtime.callers.dtensors import Derivative, put_together
from suture.runtime.callers.training import prepared
from suture.torch_private import autograd_parts, compilers
from suture.torch_private.tensor_parts import is_view


def trained(
    forward: Run,
    backward: Run,
    facts: dict[str, Any],
    detached: tuple[int, ...],
    written: tuple[int, ...],
) -> Run:
    """What runs the forward code (a list in, a list out) so that autograd finds the backward code.
    `detached` and `written` are inputs as in `Training`."""
    function = _function(forward, backward, facts)
    return prepared(compilers.plain_apply(function), detached, written)


def _function(forward_code: Run, backward_code: Run, facts: dict[str, Any]) -> Any:
    returns = int(facts["returns"])
    saved, unchecked, numbers = (slice(*facts[k]) for k in ("saved", "unchecked", "numbers"))
    constant = tuple(map(int, facts["constant"]))
    derived = tuple(map(int, facts["derived"]))
    layouts = [_layout(one) for one in facts["layouts"]]
    objects = slice(*facts["objects"])
    gradients = None if facts["gradients"] is None else put_together(facts["gradients"])
    plain = facts["deterministic"] is False

    def forward(ctx: Any, *args: Any) -> tuple[Any, ...]:
        made = forward_code(list(args))
        # a view would keep its base alive and share its version
        ctx.save_for_backward(*[t.detach() if is_view(t) else t for t in made[saved]])
        ctx.unchecked = [t.detach() if is_view(t) else t for t in made[unchecked]]
        ctx.numbers, ctx.objects = made[numbers], made[objects]
        ctx._materialize_non_diff_grads = False
        still = [made[i] for i in constant if isinstance(made[i], torch.Tensor)]
        if still:
            ctx.mark_non_differentiable(*still)
        return tuple(made[:returns])

    def backward(ctx: Any, *grads: Any) -> Any:
        if plain and torch.are_deterministic_algorithms_enabled():
            raise RuntimeError(
                "the backward graph was compiled while deterministic algorithms were not asked for"
            )
        args = [*ctx.numbers, *ctx.saved_tensors, *ctx.unchecked, *ctx.objects]
        for i, layout in zip(derived, layouts, strict=True):
            if type(layout) is Derivative:
                args += layout.apart(grads[i])
            else:
                args.append(_shaped(grads[i], layout))
        if torch.is_grad_enabled():
            needed = torch.empty(0, requires_grad=True)
            return _Once.apply(run_backward, needed, *args)  # type: ignore[no-untyped-call]
        ctx.maybe_clear_saved_tensors()
        return tuple(run_backward(args))

    def run_backward(args: list[Any]) -> Any:
        made = backward_code(args)
        return made if gradients is None else gradients(made)

    return autograd_parts.function_class("KeptGraph", forward, backward)


class _Once(torch.autograd.Function):
    """Runs a backward graph whose results are to have derivatives themselves: they have none."""

    @staticmethod
    def forward(ctx: Any, code: Run, _: torch.Tensor, *args: Any) -> tuple[Any, ...]:
        return tuple(code(list(args)))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("compiled backward graphs have no derivatives of their own")


def _layout(data: Any) -> Any:
    """A memory format, or sizes and strides; of a DTensor what takes it apart."""
    if isinstance(data, dict):
        local = _layout(data["local"])
        return Derivative(data, lambda grad: _shaped(grad, local))
    if isinstance(data, str):
        found = getattr(torch, data)
        if type(found) is not torch.memory_format:
            raise ValueError(f"torch.{data} is no memory format")
        return found
    sizes, strides = data
    return torch.Size(sizes), tuple(strides)


def _shaped(grad: Any, layout: Any) -> Any:
    """A derivative in the layout that the backward graph expects."""
    if not isinstance(grad, torch.Tensor):
        return grad
    if type(grad) is not torch.Tensor:
        grad = _waited_for(grad)
    if type(grad) is not torch.Tensor:
        raise RuntimeError(
            f"the backward graph was compiled for tensors, and gets a {type(grad).__qualname__}"
        )
    if type(layout) is torch.memory_format:
        return grad.contiguous(memory_format=layout)
    sizes, strides = layout
    if grad.shape == sizes and grad.stride() == strides:
        return grad
    made = torch.empty_strided(sizes, strides, dtype=grad.dtype, device=grad.device)
    return made.copy_(grad)


def _waited_for(grad: Any) -> Any:
    """The tensor that stands for one of a subclass, if its class says which: a result of a
    collective that is still under way waits for it."""
    coerce = getattr(grad, "__coerce_same_metadata_as_tangent__", None)
    made = None if coerce is None else coerce(None, torch.Tensor)
    return grad if made is None else made
