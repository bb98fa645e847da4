"""Gradients of leaves that a graph has used on no rows, where eager does not use them at all.

The graph gets each such leaf through a node of autograd that passes its gradient on only if there
were rows. A leaf whose gradient is not passed on is as one that was not used: `.grad` stays what it
was, and torch.autograd.grad says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class _Passed(torch.autograd.Function):
    """Gives leaves as they are. Their gradients go on to those of which `ran`, a list that is
    filled when the graph has run, says so."""

    @staticmethod
    def forward(ctx: Any, ran: list[bool], *leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.ran = ran
        ctx.set_materialize_grads(False)
        return tuple([leaf.detach() for leaf in leaves])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        return None, *[grad if ran else None for grad, ran in zip(grads, ctx.ran)]


class Withheld:
    """`leaves`: positions among the arguments of a graph. `counts`: for each of them the positions,
    among the results, of the numbers of rows that it was used on."""

    def __init__(self, leaves: tuple[int, ...], counts: tuple[tuple[int, ...], ...]) -> None:
        self.leaves = leaves
        self.counts = counts

    def around(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The graph's function, with the gradients of leaves withheld that it used on no rows."""
        leaves, counts = self.leaves, self.counts

        def graph(*given: Any) -> Any:
            args = list(given)
            ran: list[bool] = []
            passed = _Passed.apply(ran, *[given[at] for at in leaves])  # type: ignore[no-untyped-call]
            for at, leaf in zip(leaves, passed):
                args[at] = leaf
            results = run(*args)
            ran += [any(map(results.__getitem__, some)) for some in counts]
            return results

        return graph
