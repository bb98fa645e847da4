"""A miss while it is being compiled, and how it ends where nothing is compiled."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from suture import _core, config, errors, messages, repro
from suture.breaks import Break, internal, python
from suture.compiler.core import Trace
from suture.compiler.misses.interpreted import interpret_from_now_on, report
from suture.compiler.misses.long_python import note_in_vain
from suture.runtime import slot_names, where
from suture.runtime.points import PointData
from suture.runtime.uncompiled import INTERPRET, THIS_CALL_PLAINLY, Uncompiled
from suture.runtime.unit import Unit

_log = logging.getLogger("suture.compiler.pipeline")


@dataclass(slots=True)
class Miss:
    """A state for which a point has no variant, while it is being compiled. `modes` are those of
    torch functions that were active. `reported`: the break of the region was reported, under a plan
    that is `without_data` or not; None: it was not yet."""

    unit: Unit
    point: _core.Point
    state: tuple[Any, ...]
    modes: list[Any]
    reported: bool | None = None
    watch: messages.watch.Watch | None = None  # of the trace, where somebody listens
    trace: Trace | None = None  # of the current try
    in_vain: bool = False  # long, without an operation, where no tensor can be met

    @property
    def data(self) -> PointData:
        data: PointData = self.point.data
        return data

    def function(self) -> str:
        """The qualified name of the innermost function of the region."""
        return where(self.data.chain)[0]

    def release(self) -> None:
        """The trace is not needed any more: what it knows of the program goes at once."""
        if self.trace is not None:
            self.trace.release()
            self.trace = None


# ---- misses that are not compiled


def retry_limit_reached(miss: Miss, reason: str, tries: int) -> Uncompiled:
    """The limit on tries is reached: the point is interpreted from now on."""
    limit = Break(internal.RETRY_LIMIT, function=miss.function(), count=str(tries), reason=reason)
    location = interpret_from_now_on(miss.point, limit)
    if miss.unit.options.fullgraph:
        raise messages.unsupported(limit, (location,))
    return INTERPRET


def needs_real_frame(miss: Miss) -> Uncompiled:
    """A function that reads the variables of frames, its own too, needs one that has them."""
    interpret_from_now_on(miss.point, Break(python.FRAME_ACCESS, call=f"{miss.function()}()"))
    return INTERPRET


def left_to_python(miss: Miss) -> Uncompiled:
    """Plain Python that takes long: it runs as it is, now and later."""
    assert miss.trace is not None
    assert miss.trace.progress.limit_reached is not None
    report(miss.point, miss.trace.progress.limit_reached)
    note_in_vain(miss.data, miss.state)
    return THIS_CALL_PLAINLY


# ---- faults of suture


def internal_fault(point: _core.Point, state: tuple[Any, ...], error: Exception) -> Uncompiled:
    """Compiling failed in a way nobody foresaw: the frame runs in the interpreter, and the fault is
    reported; in strict mode it is raised."""
    _, file, line = where(point.data.chain)
    text = f"{type(error).__name__}: {error}"
    reason = Break(internal.INTERNAL_FAULT, error=text, phase="compile", where=f"{file}:{line}")
    report(point, reason)
    if config.strict:
        raise errors.InternalError(str(reason)) from error
    _log.warning("%s", reason, exc_info=error)
    point.data.never_compiles = True
    _write_repro(point.data, state, error)
    return INTERPRET


def handler_fault(miss: Miss, error: Exception, fault: Break) -> None:
    """The handler of an instruction failed, which Python runs instead."""
    _log.warning("%s", fault, exc_info=error)
    _write_repro(miss.data, miss.state, error)


def _write_repro(data: PointData, state: tuple[Any, ...], error: Exception) -> None:
    given = dict(zip(slot_names(data.chain), state)) if len(data.chain) == 1 else {}
    log_repro(repro.function_failed(state[0], given, error))


def log_repro(path: str) -> None:
    """Say where a script was written that shows a failure; "": none was."""
    if path:
        _log.warning("a script that shows the failure was written: %s", path)
