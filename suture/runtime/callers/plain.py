"""Plain: the operations of a small graph one by one, where that is faster than what the backend
made of them.

Legal for graphs of a few operations of torch's own that change nothing, so that they can be run
twice (`backends.small`). Where results get a derivative, autograd follows the operations as it does
without a compiler; the forward side alone is measured then, since the backward graph is compiled
when it is first needed. The first call decides: it runs both ways a few times on the inputs it got,
and gives the result of the way that is kept. So no program sees the results of one variant
alternate between two roundings: inputs of the same sizes are always computed by the same code. With
symbolic sizes the operations are run one by one only up to a multiple of the sizes that were
measured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch

from suture.runtime.callers.caller import Caller, Run
from suture.runtime.interpret import hooks_on_saved

_TURNS = 5  # of each way; the best one counts
_AHEAD = 8  # calls that a program may be ahead of its device while they are timed
_GAIN = 0.95  # what the plain way must stay below, of the other way's time
_GROWTH = 4  # inputs of symbolic size may have so many times the elements that were measured


class Measured(Caller):
    """Runs a graph both ways on its first call, and one way ever after."""

    kind = "undecided"
    why = "the first call measures"

    def __init__(
        self,
        other: Caller,
        plain: Run,
        symbolic: tuple[int, ...],
        chosen: Callable[[str], None],
    ) -> None:
        super().__init__(self._first)
        self._deciding = threading.RLock()
        self.other, self.plain, self.symbolic, self.chosen = other, plain, symbolic, chosen

    def _first(self, *args: Any) -> Any:
        with self._deciding:  # two threads must not decide differently
            return self.run(*args) if self.description else self._decide(args)

    def _decide(self, args: tuple[Any, ...]) -> Any:
        other, plain = self.other, self.plain
        out = other.run(*args)  # compiles kernels, and is then itself the shortest way
        if _capturing(args) or hooks_on_saved():  # somebody looks at each run
            return out
        theirs = _seconds(other.run, args)
        ours = _seconds(plain, args)
        if ours is None or theirs is None or ours >= _GAIN * theirs:
            self.description = other.describe()
            self.switch_to(other.run)
            return other.run(*args)
        self.description = (
            f"plain: one by one in {ours * 1e6:.1f} us, through the backend in {theirs * 1e6:.1f}"
        )
        self.switch_to(_up_to(plain, other.run, self.symbolic, args) if self.symbolic else plain)
        self.chosen(self.description)
        return plain(*args)


def _capturing(args: tuple[Any, ...]) -> bool:
    """Whether this call is recorded by somebody: it runs once then."""
    return _on_gpu(args) and torch.cuda.is_current_stream_capturing()


def _on_gpu(args: tuple[Any, ...]) -> bool:
    return any(isinstance(one, torch.Tensor) and one.is_cuda for one in args)


def _seconds(run: Run, args: tuple[Any, ...]) -> float | None:
    """What a call takes, by the shortest of a few samples; None if it raised.

    A device works on while the program makes the next calls. So several of them are made before its
    results are waited for: what counts is the longer of the two, as it does in a program, and not
    how long one result takes to arrive.
    """
    on_gpu = _on_gpu(args)
    wait, calls = (torch.cuda.synchronize, _AHEAD) if on_gpu else (_done, 1)
    best = None
    try:
        for _ in range(_TURNS):
            wait()
            began = perf_counter()
            for _ in range(calls):
                run(*args)
            wait()
            took = (perf_counter() - began) / calls
            best = took if best is None or took < best else best
    except Exception:
        return None
    return best


def _done() -> None:
    """What a processor computes is there when the call is over."""


def _up_to(plain: Run, other: Run, symbolic: tuple[int, ...], args: tuple[Any, ...]) -> Run:
    """`plain` for inputs that are not much larger than these, else `other`."""
    limits = [(i, _GROWTH * max(args[i].numel(), 64)) for i in symbolic]

    def run(*given: Any) -> Any:
        for i, limit in limits:
            if given[i].numel() > limit:
                return other(*given)
        return plain(*given)

    return run
