"""torch.func.jvp next to grad mode and to the switch of forward mode."""

from __future__ import annotations

import pytest
import torch
from torch.autograd.forward_ad import _set_fwd_grad_enabled

import suture
from tests.harness import check


def both(fn):
    check(fn, torch.randn(3))
    check(fn, torch.randn(3), backend="aot_eager")


@pytest.mark.parametrize("block", [torch.no_grad, torch.enable_grad])
def test_grad_mode_around_and_inside(block):
    def inside(a):
        with block():
            b = a.sin()
        return b * a

    def fn(x):
        with block():
            first = torch.func.jvp(inside, (x,), (torch.ones_like(x),))
        return first, torch.func.jvp(inside, (x,), (x,))

    both(fn)


@pytest.mark.parametrize("on", [False, True])
def test_forward_mode_is_switched_around_and_inside(on):
    def inside(a):
        with _set_fwd_grad_enabled(on):
            b = a.sin()
        return b * a

    def fn(x):
        with _set_fwd_grad_enabled(False):
            first = torch.func.jvp(inside, (x,), (torch.ones_like(x),))
            with _set_fwd_grad_enabled(on):
                second = torch.func.jvp(torch.cos, (x,), (x,))
        return first, second, torch.func.jvp(inside, (x,), (x,))

    both(fn)


def test_forward_mode_as_it_was_outside_is_guarded():
    def fn(x):
        with _set_fwd_grad_enabled(True):
            inner = torch.func.jvp(torch.sin, (x,), (x,))
        return inner, torch.func.jvp(torch.sin, (x,), (x,))

    compiled = suture.compile(fn, backend="eager")
    x = torch.randn(3)
    for on in (True, False, True):
        with _set_fwd_grad_enabled(on):
            for ours, eager in zip(compiled(x), fn(x)):
                torch.testing.assert_close(ours, eager)


def test_a_break_inside_leaves_the_switch_as_it_is():
    def fn(x):
        with _set_fwd_grad_enabled(False):
            y = x.sin()
            suture.graph_break()
            first = torch.func.jvp(torch.cos, (y,), (x,))
        return first, torch.func.jvp(torch.sin, (x,), (x,))

    check(fn, torch.randn(3), breaks=["GB0025"], graphs=2)
