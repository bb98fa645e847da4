"""Direct: Inductor's generated code, called with a list of inputs and nothing between.

Legal where AOTAutograd has nothing to do around the graph (see Facts.reasons), no operation is
followed by autograd, and the graph takes the inputs as they are. The first call goes the long way:
it ends what compiling has begun (autotuning, its caches, its timings).
"""

from __future__ import annotations

from typing import Any

from suture.runtime.callers.caller import Caller, Run, Situation
from suture.torch_private import compilers


class Direct(Caller):
    """Calls what Inductor generated."""

    kind = "direct"
    why = "Inductor's code, nothing between"

    def __init__(self, wrapped: Run, call: Run, written: tuple[int, ...] = ()) -> None:
        super().__init__(self._first)
        self.wrapped = wrapped
        self.call, self.written = call, written
        self.writes = bool(written)
        self.fast = _direct(call, wrapped, written)

    def _first(self, *args: Any) -> Any:
        out = self.wrapped(*args)
        self.switch_to(self.fast)
        return out

    @staticmethod
    def legal(facts: compilers.Facts, situation: Situation) -> bool:
        """Whether nothing that is left out would have done anything."""
        return (
            not facts.joint
            and not facts.reasons
            and not situation.derives()
            and facts.inputs == len(situation.inputs)
        )


def without_wrapper(call: Run, written: tuple[int, ...]) -> Run:
    """Inductor's code from an earlier process: nobody is there to wrap it."""

    def wrapped(*args: Any) -> Any:
        if written:
            compilers.increment_version([args[i] for i in written])
        return call(list(args))

    return _direct(call, wrapped, written)


def _direct(call: Run, wrapped: Run, written: tuple[int, ...]) -> Run:
    profiling = compilers.profiling
    if not written:

        def run(*args: Any) -> Any:
            return wrapped(*args) if profiling() else call(list(args))

        return run
    increment = compilers.increment_version

    def run_and_count(*args: Any) -> Any:
        if profiling():
            return wrapped(*args)
        increment([args[i] for i in written])  # autograd must notice what was saved before
        return call(list(args))

    return run_and_count
