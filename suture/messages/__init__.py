"""From what the pipeline saw to events, log lines and errors: the only maker of texts for users."""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from suture import _core, errors, events
from suture.breaks import Break, Kind, tensors
from suture.breaks.registry import Status
from suture.bytecode import CANONICAL
from suture.compiler.capture import Capture, Interpret, Return, Run
from suture.compiler.guards.names import point_location, slot_words, spoken
from suture.messages import graphs, guards, probe, texts, trace_file
from suture.messages.log import TELLER
from suture.messages.source import expression, receiver
from suture.messages.texts import break_text
from suture.messages.watch import Watch, watcher

_log = logging.getLogger("suture.breaks")


def location_of(code: Any, index: int) -> events.Where:
    """The location of an instruction in the user's source; of a conditional jump, the location of
    the value that is tested."""
    index = tested(code.instructions, min(index, len(code.instructions) - 1))
    line, end, column, end_column = code.positions(index)
    return events.Where(
        code.code.co_qualname,
        code.code.co_filename,
        line or 0,
        -1 if end is None else end,
        -1 if column is None else column,
        -1 if end_column is None else end_column,
    )


def tested(instructions: Sequence[Any], index: int) -> int:
    """The instruction that made what the one at `index` tests; `index` itself where it tests
    nothing, or where the value comes on several ways.

    Python 3.11 gives the jumps of `a and b` the position of `a`, the second one included.
    """
    at = index
    while at and instructions[at].op in _TESTS and not _is_target(instructions, at):
        at -= 1
    made = instructions[at]
    return index if made.op in _TESTS or not CANONICAL[made.op].falls or made.target else at


_TESTS = frozenset(
    ("TO_BOOL", "COPY", "GET_ITER", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "JUMP_IF_TRUE_OR_POP",
     "JUMP_IF_FALSE_OR_POP")
)  # fmt: skip


def _is_target(instructions: Sequence[Any], index: int) -> bool:
    return any(one.target == index for one in instructions)


def stack_of(frames: list[Any], inside: list[Any]) -> tuple[events.Where, ...]:
    """The inlined frames, innermost first; `inside` are (code, index) of those whose call Python
    runs as a whole."""
    at = [(f.code, f.ip - 1) for f in frames[:-1]]
    at += [(frames[-1].code, frames[-1].ip), *inside]
    return tuple(location_of(code, index) for code, index in reversed(at))


def traced(point: _core.Point, capture: Capture, watch: Watch | None) -> None:
    """A region was walked over."""
    if watch is None:
        return
    ways = {Return: "return", Run: "break"}
    raises = isinstance(capture.exit, Interpret) and capture.exit.raises
    way = ways.get(type(capture.exit), "raise" if raises else "interpret")
    events.emit(
        events.Traced(
            point_location(point.data.chain),
            capture.steps,
            tuple(watch.inlined),
            tuple(watch.lines),
            way,
            point=point.name,
        )
    )


def broke(unit: Any, point: _core.Point, capture: Capture, reason: Break) -> None:
    """A break: an event and a log line, or an error where none is allowed."""
    exit = capture.exit
    stack = stack_of(capture.frames, exit.inside if isinstance(exit, (Run, Interpret)) else [])
    reason = in_users_words(reason, stack[0], slot_words(point.data.chain))
    # What eager raises too is the program's own error: Python runs the operation and raises it. A
    # fake kernel that raises may be wrong: whoever asked for the answer runs the program and sees.
    own = reason.type.status is Status.ERROR and reason.type is not tensors.FAKE_FAILED
    raised = unit.forbids_breaks(capture.strictness.now) and not own
    events.emit(
        events.Broke(
            reason.number,
            reason.type.type,
            reason.message(),
            stack[0],
            stack,
            tuple(reason.fields.items()),
            raised,
            point=point.name,
        )
    )
    if raised:
        raise unsupported(reason, stack)
    _tell(reason, stack, texts.CONTINUED if isinstance(exit, Run) else texts.INTERPRETED)


def in_users_words(reason: Break, at: events.Where, slots: Mapping[str, str]) -> Break:
    """The break with names of the program: sources as it writes them, and the expression at the
    break's location instead of the names that values have in the graph."""
    fields = {name: spoken(text, slots) for name, text in reason.fields.items()}
    text = expression(at)
    if text is not None:
        fields |= _written(fields, text, Break(reason.type, **fields).message())
    return reason if fields == reason.fields else Break(reason.type, **fields)


def _written(fields: Mapping[str, str], text: str, message: str) -> dict[str, str]:
    """The fields that the expression `text` says better than the message does so far."""
    out: dict[str, str] = {}
    for name, value in fields.items():
        found = _NODE.fullmatch(value)
        if found is None:
            continue
        tail = found.group(1)
        asked = re.search(rf"{re.escape(value)}\.(\w+)", message)
        if asked is not None:
            out[name] = receiver(text, asked.group(1)) or value
        elif (len(fields) == 1 or tail) and text.endswith(tail):
            out[name] = text
    call = f"{fields.get('builtin', '')}("
    if "arguments" in fields and text.startswith(call) and text.endswith(")"):
        out["arguments"] = text[len(call) : -1]
    if "origin" in fields:
        out["expression"] = text
    return out


_NODE = re.compile(r"the tensor \w+(.*)")


def unsupported(reason: Break, stack: tuple[events.Where, ...]) -> errors.Unsupported:
    """The error for a break that may not be. Its `real_stack` is the user's, outermost first."""
    frames = [(at.file, at.line, at.function, None) for at in reversed(stack)]
    return errors.Unsupported(
        break_text(reason, stack, texts.RAISED),
        number=reason.number,
        type=reason.type.type,
        fields=dict(reason.fields),
        real_stack=traceback.StackSummary.from_list(frames),
        eager_may_raise=reason.type is tensors.FAKE_FAILED,
    )


def _tell(reason: Break, stack: tuple[events.Where, ...], outcome: str) -> None:
    """The log line of a break: in full the first time, then only how often it came."""
    level = logging.DEBUG if reason.type.kind is Kind.BY_REQUEST else logging.INFO
    if not _log.isEnabledFor(level):
        return
    at = stack[0]
    before = TELLER.again((reason.number, at.file, at.line, at.column))
    if before == 0:
        _log.log(level, "%s", break_text(reason, stack, outcome))
    elif str(before + 1).strip("0") == "1":
        _log.log(level, "%s at %s: %d times so far", reason.number, at, before + 1)


def retried(point: _core.Point, reason: str, tries: int) -> None:
    """A region is traced again."""
    events.emit(events.Retried(point_location(point.data.chain), reason, tries, point=point.name))


def captured(point: _core.Point, capture: Capture, emitted: Any) -> None:
    """A graph was handed to the backend."""
    graph = emitted.module.graph
    detailed = events.detailed()
    events.emit(
        events.Captured(
            point.name,
            point_location(point.data.chain),
            capture.graph.ops,
            len(emitted.inputs),
            sum(len(node.args[0]) for node in graph.nodes if node.op == "output"),
            graphs.lines(graph) if detailed else (),
            graphs.text(graph) if detailed else "",
            graphs.nodes(graph) if detailed else (),
            point=point.name,
        )
    )


def installed(point: _core.Point, variant: Any, state: tuple[Any, ...]) -> None:
    """A variant was added to its point."""
    probe.offer(point, variant)
    detailed = events.detailed()
    events.emit(
        events.Installed(
            f"{point.name}#{variant.number}",
            point_location(point.data.chain),
            guards.texts(variant.guards) if detailed else (),
            variant.source if detailed else "",
            guards.locations(variant.guards) if detailed else (),
            check_seconds(variant.program, state) if detailed else 0.0,
            point=point.name,
        )
    )


def check_seconds(program: Any, state: tuple[Any, ...], turns: int = 20) -> float:
    """What one check of a guard program takes, the best of some."""
    best = float("inf")
    for _ in range(turns):
        began = time.perf_counter()
        program.check(*state)
        best = min(best, time.perf_counter() - began)
    return best


def reset() -> None:
    """Tell everything anew, as at the start of a process."""
    TELLER.clear()


__all__ = [
    "broke",
    "captured",
    "installed",
    "location_of",
    "probe",
    "reset",
    "retried",
    "stack_of",
    "trace_file",
    "traced",
    "unsupported",
    "watcher",
]
