"""Where the program is while it is traced: its line, its stack, the call that is under way."""

from __future__ import annotations

from suture.compiler.core import Trace
from suture.compiler.graph import Span
from suture.compiler.interpreter.lines import line_text


def where_now(trace: Trace) -> tuple[str, int] | None:
    """The file and the line that the innermost frame is at."""
    if not trace.frames:
        return None
    frame = trace.frames[-1]
    return frame.code.code.co_filename, frame.line() or 0


def stack_trace(trace: Trace) -> str:
    """The stack as traceback prints it."""
    out = []
    for frame in trace.frames:
        at = frame.ip if frame is trace.frames[-1] else frame.ip - 1
        out.append(line_text(frame.code, at))
    return "".join(out)


def span_now(trace: Trace) -> Span | None:
    """The call that is under way."""
    return trace.frames[-1].span if trace.frames else None
