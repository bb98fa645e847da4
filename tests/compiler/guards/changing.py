"""How the soundness tests call: eager and compiled side by side, with something changed."""

from __future__ import annotations

import torch

import suture
from tests.harness import same

X = torch.arange(6.0).reshape(2, 3)


def differs(fn, before, after, change=None):
    """Call compiled `fn` with `before()`, then (after `change()`) with `after()`, then `before()`:
    each time it gives what eager gives."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        for step, args in enumerate((before, before, after, before, after)):
            if step == 2 and change is not None:
                change()
            same(fn(*args()), compiled(*args()), f"call {step}")


def changes(fn, *args, change):
    """`change()` alters the world between two calls with the same arguments."""
    differs(fn, lambda: args, lambda: args, change)
