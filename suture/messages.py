"""From what the pipeline saw to events, log lines and errors."""

from __future__ import annotations

import logging
from typing import Any

from suture import errors, events
from suture.breaks import Break, Kind
from suture.capture import Capture
from suture.hook import where

_log = logging.getLogger("suture.breaks")


def place_of(frame: Any, index: int) -> events.Where:
    """The place of an instruction in the user's source."""
    code = frame.code
    line, end, column, end_column = code.positions(min(index, len(code.instructions) - 1))
    return events.Where(
        code.code.co_qualname, code.code.co_filename, line or 0,
        -1 if end is None else end, -1 if column is None else column,
        -1 if end_column is None else end_column,
    )


def stack_of(frames: list[Any]) -> tuple[events.Where, ...]:
    """The inlined frames, innermost first."""
    out = [place_of(frames[-1], frames[-1].ip)]
    out += [place_of(f, f.ip - 1) for f in reversed(frames[:-1])]
    return tuple(out)


def broke(unit: Any, point: Any, capture: Capture, reason: Break) -> None:
    """A break: an event and a log line, or an error where none is allowed."""
    stack = stack_of(capture.frames)
    raised = unit.forbids_breaks(reason)
    events.emit(
        events.Broke(
            reason.number, reason.type.type, reason.message(), stack[0], stack,
            tuple(reason.fields.items()), raised, point=point.name,
        )
    )
    if raised:
        raise errors.Unsupported(
            explain(reason, stack, "fullgraph=True, so it is an error"),
            number=reason.number, type=reason.type.type, fields=dict(reason.fields),
        )
    if _log.isEnabledFor(logging.INFO) and reason.type.kind is not Kind.BY_REQUEST:
        _log.info("%s", explain(reason, stack, "Python runs this line, capture goes on behind it"))


def explain(reason: Break, stack: tuple[events.Where, ...], outcome: str) -> str:
    """The full text of a break: what, why, what to do, where."""
    lines = [f"{reason.number} {reason.type.type}", f"  {reason.message()}", "", reason.explanation()]
    lines += [f"  hint: {hint}" for hint in reason.hints()]
    lines += ["", f"  what suture did: {outcome}", ""]
    lines += [f'  File "{w.file}", line {w.line}, in {w.function}' for w in reversed(stack)]
    return "\n".join(lines)


def captured(point: Any, data: Any, capture: Capture, emitted: Any) -> None:
    function, file, line = where(data.chain)
    events.emit(
        events.Captured(
            point.name, events.Where(function, file, line or 0), capture.graph.ops,
            len(emitted.inputs), 0, (), emitted.module.code, point=point.name,
        )
    )
