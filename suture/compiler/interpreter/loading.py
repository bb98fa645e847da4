"""From the state of a point to the frames of a region."""

from __future__ import annotations

import itertools
from typing import Any

from suture import _core
from suture.breaks import Break
from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.interpreter.lines import loop_slots
from suture.compiler.language.dropped import watch_objects
from suture.compiler.language.exceptions import Ambient
from suture.compiler.language.generators import wrap_frame_function
from suture.compiler.objects import NULL, Lazy, Opaque
from suture.runtime import slot_names
from suture.runtime.sources import Source, slot


def load_state(trace: Trace, state: tuple[Any, ...]) -> None:
    """The frames of a region, from the values that its point was entered with."""
    names = slot_names(trace.region.chain)
    trace.region.slots = [slot(i, name) for i, name in enumerate(names)]
    at = 0
    frames = []
    for depth, spec in enumerate(trace.region.chain):
        part = [Lazy(state[i], trace.region.slots[i]) for i in range(at, at + spec.size)]
        at += spec.size
        frames.append(_load_frame(trace, spec, part, depth))
        watch_objects(trace, part[1:])
    frames.reverse()
    for outer, inner in itertools.pairwise(frames):
        if type(inner.handled) is Ambient:  # what its caller handles
            inner.handled = outer.handled
    trace.frames = frames


def _load_frame(trace: Trace, spec: Any, part: list[Any], depth: int) -> Frame:
    code = decode(spec.code)
    fn = wrap_frame_function(trace, part[0], spec.code)
    locals_: list[Any] = [None] * len(code.localsplus)
    for slot_, value in zip(spec.live, part[1:]):
        locals_[slot_] = value
    live = len(spec.live)
    if spec.index and code.in_loop(spec.index):
        stored = loop_slots(code)
        moving = [v for s, v in zip(spec.live, part[1:]) if s in stored]
        trace.region.history.turn(
            {v.source.path(): v.value for v in moving if type(v.value) in (int, float)}
        )
    frame = Frame(code, fn, locals_, Ambient())
    frame.resumed = spec.resumed
    frame.ip = spec.index
    frame.stack = _load_stack(trace, frame, part[1 + live : 1 + live + spec.depth], spec.waiting)
    rest = part[1 + live + spec.depth :]
    if spec.handling:
        frame.handled = _realize(trace, rest[0])
    if spec.deliver:
        frame.deliver = _realize(trace, rest[-1])
    return frame


def _load_stack(trace: Trace, frame: Frame, values: list[Any], waiting: bool) -> list[Any]:
    """The value stack; a value that is thrown away at once is not looked at, nor guarded.

    What a waiting frame throws away is not there yet: it is the value that the frame waits for."""
    stack = [_incoming(trace, v.value, v.source) or NULL for v in values]
    drops = not waiting and frame.code.instructions[frame.ip].op == "POP_TOP"
    top = stack[-1] if stack and drops else None
    if type(top) is Lazy:
        stack[-1] = Opaque(top.value, top.source)
    return [_realize(trace, v) for v in stack]


def _incoming(trace: Trace, value: object, source: Source) -> Any:
    if value is _core.UNBOUND:
        trace.guards.add(source, "unbound")
        return None
    return Lazy(value, source)


def _realize(trace: Trace, value: Any) -> Value:
    try:
        return abstract.realize(trace, value)
    except Break:  # whatever uses it says why it cannot be looked at
        trace.guards.add(value.source, "type", type(value.value))
        return Opaque(value.value, value.source)
