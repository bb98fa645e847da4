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
    return frame.code.places.get(frame.ip) or frame.code.place(frame.ip)


def stack_trace(trace: Trace) -> str:
    """The stack as traceback prints it."""
    if not trace.frames:
        return ""
    inner = trace.frames[-1]
    above = inner.above
    if above is None:
        above = "".join(line_text(f.code, f.ip - 1) for f in trace.frames if f is not inner)
        if inner.generator is None:  # the frames below stand where they are until it has returned
            inner.above = above
    return above + line_text(inner.code, inner.ip)


def span_now(trace: Trace) -> Span | None:
    """The call that is under way."""
    return trace.frames[-1].span if trace.frames else None
