"""A mistake of suture's in the midst of a region costs a break there, not the whole function."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from suture import _core, config
from suture.breaks import Break, calls, internal
from suture.compiler import abstract
from suture.compiler.capture import Capture
from suture.compiler.core import Trace
from suture.compiler.interpreter.run import run_region
from suture.compiler.misses.interpreted import interpret_from_now_on, report
from suture.compiler.plan import Retry, Stop
from suture.torch_private import MissingName

_log = logging.getLogger("suture.compiler.pipeline")
Tell = Callable[[Exception, Break], None]


def run_around_faults(trace: Trace, tell: Tell) -> Capture | Retry:
    """Trace the region. Where an instruction's handler fails in a way nobody foresaw, the next try
    ends before that instruction, and Python runs it: nothing of the failed try is used, so it does
    not matter what the handler had done. `tell` reports the fault."""
    try:
        return run_region(trace)
    except Exception as error:
        if config.strict or trace.region.whole or not _is_unforeseen(trace, error):
            raise
        text = f"{type(error).__name__}: {error}"
        inst = trace.frames[-1].code.instructions[trace.frames[-1].ip]
        fault = Break(internal.INTERNAL_FAULT, error=text, phase="compile", where=inst.op)
        exit = abstract.exit_at(trace, fault)
        tell(error, fault)
        stop = Stop(trace.progress.step, exit, (), trace.region.initializes)
        return Retry(trace.region.plan.stopping(stop), f"an instruction failed: {fault}")


def _is_unforeseen(trace: Trace, error: Exception) -> bool:
    """Whether a handler failed: what suture raises itself has a meaning, and a try that ended where
    it was told to has no instruction left that could be at fault."""
    own = type(error).__module__.split(".")[0] == "suture"
    return not own and trace.region.plan.stop is None and bool(trace.progress.step and trace.frames)


def out_of_room(point: _core.Point, error: RecursionError) -> None:
    """The stack is nearly full: say so, if there is room for that."""
    with contextlib.suppress(RecursionError):
        report(point, Break(calls.TRACING_OUT_OF_ROOM, error=type(error).__name__))


def missing(point: _core.Point, error: MissingName) -> None:
    """Compiling itself needs a part of torch that is gone: the frame runs in the interpreter."""
    reason = Break(internal.MISSING_NAME, name=error.path)
    interpret_from_now_on(point, reason)
    _log.warning("%s", reason)
