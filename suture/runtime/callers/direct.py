"""Direct: Inductor's generated code, called with a list of inputs and nothing between.

Legal where AOTAutograd has nothing to do around the graph (see Facts.reasons), no result of it has
a derivative, and the graph takes the inputs as they are. Where an input requires grad while grad
mode is on (a step of an optimizer), the mode is off around the code, as AOTAutograd has it. The
first call goes the long way: it ends what compiling has begun (autotuning, its caches and timings).
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from suture.runtime.callers.caller import Caller, Run, Situation
from suture.runtime.modes import without_grad
from suture.torch_private import aot_facts, compilers


class Direct(Caller):
    """Calls what Inductor generated. `written`: the inputs that it writes; `off`: grad mode is
    switched off around it."""

    kind = "direct"
    why = "Inductor's code, nothing between"

    def __init__(
        self, wrapped: Run, call: Run, written: tuple[int, ...] = (), off: bool = False
    ) -> None:
        super().__init__(self._first)
        self.wrapped = wrapped
        self.call, self.written, self.off = call, written, off
        self.writes = bool(written)
        self.fast = _direct(call, wrapped, written, off)

    def _first(self, *args: Any) -> Any:
        out = self.wrapped(*args)
        self.switch_to(self.fast)
        return out

    @staticmethod
    def legal(facts: aot_facts.Facts, situation: Situation) -> bool:
        """Whether nothing that is left out would have done anything."""
        return not facts.joint and not facts.reasons and facts.inputs == len(situation.inputs)


def without_wrapper(call: Run, written: tuple[int, ...], off: bool) -> Run:
    """Inductor's code from an earlier process: nobody is there to wrap it."""
    unwatched = without_grad(call) if off else call

    def wrapped(*args: Any) -> Any:
        if written:
            compilers.increment_version([args[i] for i in written])
        return unwatched(list(args))

    return _direct(call, wrapped, written, off)


def _direct(call: Run, wrapped: Run, written: tuple[int, ...], off: bool) -> Run:
    profiling = compilers.profiling
    if off:
        call = without_grad(call)
    if not written:

        def run(*args: Any) -> Any:
            return wrapped(*args) if profiling() else call(list(args))

        return run
    increment = compilers.increment_version
    those = itemgetter(*written)  # one of them, or a tuple

    def run_and_count(*args: Any) -> Any:
        if profiling():
            return wrapped(*args)
        increment(those(args))  # autograd must notice what was saved before
        return call(list(args))

    return run_and_count
