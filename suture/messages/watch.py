"""Looks over the tracer's shoulder: lines walked, functions entered, and the `trace` log.

`watcher()` is asked before each trace and gives None while nobody wants to know.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from suture import events, rules
from suture.breaks import readable
from suture.messages.source import line_of, printable

if TYPE_CHECKING:
    from suture.bytecode import Code, Instruction
    from suture.compiler.core import Frame, Lazy, Trace, Value
    from suture.compiler.graph.spans import Span

_log = logging.getLogger("suture.trace")


class Watch:
    """Called with (trace, frame, instruction) before each instruction of a trace.

    `lines` holds the (file, line) pairs walked over and `inlined` the functions entered, each once
    and in order.
    """

    def __init__(self, log: bool) -> None:
        self.lines: dict[tuple[str, int], None] = {}
        self.inlined: dict[str, None] = {}
        self._log = log
        # which frame was last: not the frame itself, whose variables are dropped when it ends
        self._code: Code | None = None
        self._span: Span | None = None
        self._line: int | None = None

    def __call__(self, trace: Trace, frame: Frame, inst: Instruction) -> None:
        line = frame.code.line(inst.index)
        entered = frame.code is not self._code or frame.span is not self._span
        if entered or line != self._line:
            code = frame.code.code
            if line:
                self.lines.setdefault((code.co_filename, line))
            if entered and len(trace.frames) > 1:
                self.inlined.setdefault(code.co_qualname)
            if self._log:
                self._tell_line(trace, frame, line, entered)
            self._code, self._span, self._line = frame.code, frame.span, line
        if self._log:
            self._tell_instruction(trace, frame, inst)

    def _tell_line(self, trace: Trace, frame: Frame, line: int | None, entered: bool) -> None:
        code = frame.code.code
        indent = "  " * (len(trace.frames) - 1)
        if entered:
            _log.info("%s%s", indent, _entered(trace, frame))
        source = line_of(code.co_filename, line or 0) or ""
        _log.info("%s%s:%s  %s", indent, _tail(code.co_filename), line, printable(source.strip()))

    def _tell_instruction(self, trace: Trace, frame: Frame, inst: Instruction) -> None:
        indent = "  " * len(trace.frames)
        stack = ", ".join(_value(value) for value in frame.stack)
        what = "" if inst.val is None else printable(readable(inst.val, 40))
        _log.info("%s%-4d %-22s %-20s [%s]", indent, inst.index, inst.op, what, stack)


def _entered(trace: Trace, frame: Frame) -> str:
    """A line about a frame that starts or continues; with the rule that let it be inlined."""
    code = frame.code.code
    depth = len(trace.frames) - 1
    if depth == 0:
        return f"trace {code.co_qualname}"
    real = getattr(frame.fn, "fn", None)
    rule = "made here" if real is None else str(rules.lookup(real))
    return f"inline {code.co_qualname} at depth {depth} ({rule})"


def _tail(file: str) -> str:
    return file.rpartition("/")[2]


def _value(value: Value | Lazy | None) -> str:
    if value is None:
        return "unbound"
    source, describe = value.source, getattr(value, "describe", None)  # a Lazy has no words
    try:
        if describe is not None:
            text = describe()
        else:
            text = "an object" if source is None else source.path()
    except Exception:
        text = type(value).__name__
    text = printable(text)
    return text if len(text) <= 40 else text[:37] + "..."


def watcher() -> Watch | None:
    """Something to watch a trace with, if anybody wants to see it."""
    log = _log.isEnabledFor(logging.INFO)
    return Watch(log) if log or events.detailed() else None
