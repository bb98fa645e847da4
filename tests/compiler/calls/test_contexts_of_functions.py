"""What a torch.autograd.Function leaves in its context for backward."""

from __future__ import annotations

import pytest
import torch

import suture


class Kept(torch.autograd.Function):
    """Keeps a tensor in its context, which backward writes to, and saves another one."""

    @staticmethod
    def forward(ctx, scale, x):
        ctx.scale = scale
        ctx.save_for_backward(x)
        return x + scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.scale.mul_(2)
        return None, grad * ctx.scale + x


@pytest.mark.parametrize("through", [lambda s, x: (s, x), lambda s, x: (list((s,))[0], x * 1)])
def test_what_a_function_keeps_in_its_context_may_be_written_before_backward(through):
    def gradients(fn):
        scale, leaves = torch.ones(4), [torch.ones(4, requires_grad=True) for _ in range(2)]
        made = [fn(scale, leaf) for leaf in leaves]
        for one in made:
            one.sum().backward()
        return [scale, *(leaf.grad for leaf in leaves)]

    def fn(scale, x):
        return Kept.apply(*through(scale, x))

    compiled = suture.compile(fn, backend="aot_eager", fullgraph=True)
    assert all(map(torch.equal, gradients(fn), gradients(compiled)))


def test_what_a_function_saves_may_not_be_written_before_backward():
    x = torch.ones(4, requires_grad=True)
    hidden = x * 1
    made = suture.compile(Kept.apply, backend="aot_eager")(torch.ones(4), hidden)
    with torch.no_grad():
        hidden.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()
