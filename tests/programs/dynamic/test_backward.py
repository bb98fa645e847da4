"""The backward graphs of variants whose sizes are symbols."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import suture


def recorded(calls):
    """AOTAutograd with compilers that note when they are called."""

    def backend(gm, inputs):
        from torch._dynamo.backends.debugging import boxed_nop
        from torch._functorch.aot_autograd import aot_module_simplified

        def compiler(name):
            def compile(graph, examples):
                calls.append(name)
                return boxed_nop(graph, examples)

            return compile

        return aot_module_simplified(
            gm, list(inputs), fw_compiler=compiler("forward"), bw_compiler=compiler("backward")
        )

    return backend


def test_a_backward_of_symbolic_sizes_is_compiled_with_its_forward():
    """What it assumes of them is guarded then."""
    calls = []
    compiled = suture.compile(lambda x: x.relu(), backend=recorded(calls))
    for size in (3, 4):
        result = compiled(torch.randn(size, requires_grad=True))
        if size == 3:
            assert calls == ["forward"]
            result.sum().backward()
            calls.clear()
    assert calls == ["forward", "backward"]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_what_a_backward_assumes_of_sizes_is_guarded(backend):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.MaxPool2d(2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )  # fmt: skip
    other = copy.deepcopy(model)
    suture.reset()
    compiled = suture.compile(model, backend=backend)
    for n in (4, 6, 9):
        x = torch.randn(2, 3, 2 * n + 4, 2 * n + 6)
        compiled(x).sum().backward()
        other(x).sum().backward()
    for mine, theirs in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-4)
