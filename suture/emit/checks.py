"""What a variant does about the conditions that it expects: it looks, and goes back if need be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.capture import Capture
from suture.emit.writer import Writer
from suture.hook import Chain, interpret


class AfterCheck:
    """The generators of random numbers go back to where they were, and the region is run in the
    interpreter. `tell` is called with what the conditions were, one truth for each check."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.tell: Callable[[tuple[bool, ...]], None] = _tell_nobody

    def __call__(self, before: Any, truths: tuple[Any, ...], *state: Any) -> Any:
        set_drawn(before)
        self.tell(tuple(bool(t) for t in truths))
        return interpret(self.chain, state)


def _tell_nobody(truths: tuple[bool, ...]) -> None:
    pass


def drawn(cuda: bool) -> Any:
    """How far torch's generators of random numbers are."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if cuda else None


def set_drawn(state: Any) -> None:
    """Put the generators back to where they were."""
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])


class CheckLines:
    """The lines around a graph call that concern checks: `before` it, `failed` if it raises,
    `after` it. `handler` is the object that takes over."""

    def __init__(self, writer: Writer, capture: Capture, chain: Chain) -> None:
        self.before: list[str] = []
        self.failed: list[str] = []
        self.after: list[str] = []
        self.handler: AfterCheck | None = None
        if not capture.checks:
            return
        self.handler = AfterCheck(chain)
        name = writer.fresh("before")
        cuda = any(check.uses_cuda for check in capture.checks)
        self.before = [f"    {name} = {writer.constant(drawn, 'drawn')}({cuda})"]
        self.failed = [f"        {writer.constant(set_drawn, 'set_drawn')}({name})"]
        truths = [writer.graph_output(check.tensor) for check in capture.checks]
        tests = [
            text if check.expected else f"not {text}" for text, check in zip(truths, capture.checks)
        ]
        inner = "".join(text + ", " for text in truths)
        state = "".join(", " + param for param in writer.params)
        handler = writer.constant(self.handler, "refused")
        self.after = [
            f"    if not ({' and '.join(dict.fromkeys(tests))}):",
            f"        return {handler}({name}, ({inner}){state})",
        ]
