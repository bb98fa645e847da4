"""Training: the autograd function that AOTAutograd made of a graph, without what stands before it.

Legal under the conditions of Direct, the other way round: autograd follows, and grad mode is on, so
that nothing has to switch it on. The function itself is torch's: what it saves, how it checks
versions, when it compiles the backward graph stays as it is.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.backends import _torch
from suture.backends.callers.caller import Caller, Run, Situation


class Training(Caller):
    """Applies the autograd function."""

    kind = "training"
    why = "the autograd function of the graph, nothing between"

    def __init__(self, wrapped: Run, apply: Run, detached: tuple[int, ...]) -> None:
        super().__init__(self._first)
        self.wrapped = wrapped
        self.fast = _applied(apply, wrapped, detached)

    def _first(self, *args: Any) -> Any:
        out = self.wrapped(*args)
        self.become(self.fast)
        return out

    @staticmethod
    def legal(facts: _torch.Facts, situation: Situation) -> bool:
        """Whether nothing that is left out would have done anything."""
        return (
            facts.joint
            and not facts.reasons
            and not facts.written
            and situation.grad
            and facts.inputs == len(situation.inputs)
            and not _torch.hooks_on_saved()
        )


def _applied(apply: Run, wrapped: Run, detached: tuple[int, ...]) -> Run:
    profiling = _torch.profiling

    def run(*args: Any) -> Any:
        if profiling():
            return wrapped(*args)
        if detached:
            given = list(args)
            for i in detached:
                if isinstance(given[i], torch.Tensor):
                    given[i] = given[i].detach()
            return apply(*given)
        return apply(*args)

    return run
