"""What the program has dropped: generators in the midst of their elements, whose blocks are left,
and objects from outside at whose end something happens, where the region ends."""

from __future__ import annotations

import gc
import itertools
import sys
import types
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from suture.breaks import Break, control_flow, objects
from suture.bytecode import language
from suture.compiler.abstract import implements
from suture.compiler.core import (
    Finalized,
    Frame,
    Handling,
    Modes,
    Numbers,
    Outside,
    Progress,
    Region,
    Trace,
    Value,
)
from suture.compiler.language.generators import in_block
from suture.compiler.objects import Generator, Raise, Raised, generator, made_weakref
from suture.compiler.objects.made_weakref import MadeReference
from suture.runtime.reads import is_empty_cell

_OF_GETREFCOUNT = 1  # what it is asked about is its argument
_OWN_REFERENCES = 2  # that of the table of waiting generators, and the argument of the caller
_CONTAINERS = (list, tuple, dict, set, frozenset)
# The trace itself refers to every generator; what values and frames refer to is asked.
_OF_TRACE = (Trace, Handling, Finalized, Outside, Progress, Region, Modes, Numbers)
_DEPTH = 3  # how deep a generator may be in iterators and containers
_MOST_PARTS = 64  # of an iterator or a container, that are looked at
_LOOKED_AT = 100_000  # objects, at most, to find out what can be reached


def leave_frames(trace: Trace, exc: Value, depth: int) -> None:
    """An exception leaves the frames above `depth`. What they hold ends when it does: its traceback
    holds them."""
    gone = trace.frames[depth:]
    for frame in gone:
        if frame.generator is not None:
            frame.generator.frame = None
            frame.generator.running = False
    del trace.frames[depth:]
    if trace.handling.waiting:
        for frame in gone:
            frame.stack.clear()
            frame.locals = [value if _holds_one(trace, value) else None for value in frame.locals]
        held = [frame for frame in reversed(gone) if any(v is not None for v in frame.locals)]
        (exc.left if isinstance(exc, Raise) else trace.handling.unwound).extend(held)


def _holds_one(trace: Trace, value: Any) -> bool:
    """Whether somebody waits for the end of a local variable, or of a generator that it holds."""
    if value is None or waits(value):
        return value is not None
    found = reached([value])
    return any(key in found for key in trace.handling.waiting)


def order_of_end(frame: Frame) -> list[int]:
    """The ids of what the variables of a frame hold, in the order in which it frees them."""
    held = [id(value) for value in frame.locals]
    return held[::-1] if language.FREES_LAST_FIRST else held


def close_dropped(trace: Trace, order: list[int]) -> None:
    """Close the generators that the instruction has dropped: those that went with a frame in the
    order in which its variables go (`order`: the ids of what they held). Which those are is known
    before one of them is closed: what its blocks do drops others, but not these."""
    if sys.getrefcount(trace.handling.last_traceback) <= _OF_GETREFCOUNT + 1:
        trace.handling.last_traceback = None  # it holds its exception, which nobody asks for it
    while gone := _dropped(trace):
        if len(gone) > 1:
            gone.sort(key=lambda gen: order.index(id(gen)) if id(gen) in order else len(order))
        for gen in gone:
            _close(trace, gen)


def close_at_end(trace: Trace, result: Value, order: list[int]) -> None:
    """The region returns `result`: close the generators that only its frames knew."""
    trace.handling.unwound.clear()
    for frame in trace.frames:
        if not frame.resumed:
            frame.locals = [None] * len(frame.locals)
    close_dropped(trace, order)
    if trace.handling.waiting:
        found = reached([result, *_kept(trace)])
        for key in [key for key in trace.handling.waiting if key not in found]:
            gen = trace.handling.waiting.pop(key, None)
            if gen is not None:
                _close(trace, gen)


@implements(made_weakref.is_dropped)
def is_dropped(trace: Trace, reference: MadeReference) -> bool:
    # Whatever holds it, a frame or a container, is one more reference than the known ones. The
    # object is in no variable here and was no argument: how many references a call keeps to what it
    # passes on depends on how far CPython has specialised it.
    touched = trace.effects.touched
    known = [
        of for of in gc.get_referrers(reference.to) if of is touched or type(of) is MadeReference
    ]
    return sys.getrefcount(reference.to) <= _OF_GETREFCOUNT + len(known)


def _dropped(trace: Trace) -> list[Generator]:
    """The generators that nobody holds any more, which do not wait from now on."""
    touched, waiting = trace.effects.touched, trace.handling.waiting
    gone = [
        key
        for key in waiting
        if sys.getrefcount(waiting[key]) <= _OWN_REFERENCES + (key in touched)
    ]
    return [waiting.pop(key) for key in gone]


def _close(trace: Trace, gen: Generator) -> None:
    frame = gen.frame
    if frame is None:
        return
    if not in_block(frame):
        gen.frame = None
        return
    try:
        generator.close_generator(trace, gen)
    except Raised:  # which Python only prints
        raise Break(control_flow.UNKNOWN_ITERATOR, iterator=gen.describe()) from None


def _kept(trace: Trace, but: object = None) -> list[Any]:
    """What outlives the region: objects from outside that it has changed, and what it calls. That
    it has changed the object `but` keeps that one no longer than the program does."""
    effects = trace.effects
    changed = (v for v in effects.touched.values() if v.source is not None)
    outside = [v for v in changed if but is None or getattr(v, "value", None) is not but]
    return [outside, effects.globals, effects.calls, effects.passed, trace.frames]


class _Everything:
    """A set of ids that holds all of them."""

    def __contains__(self, _: object) -> bool:
        return True


def kept_outside(trace: Trace) -> list[Any]:
    """What outlives the region, but for what its frames hold."""
    return _kept(trace)[:-1]


def reached(roots: list[Any], changed: Iterable[int] = ()) -> Any:
    """The ids of all values, and what they are made of, that can be reached. The real objects that
    the region has `changed` (ids) still hold what they did: their values say what they will."""
    seen: set[int] = set(changed)
    work = [roots]
    while work:
        at: Any = work.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if len(seen) > _LOOKED_AT:
            return _Everything()
        if type(at) is MadeReference:
            continue
        if type(at) in _CONTAINERS or _is_part_of_values(type(at)):
            work += gc.get_referents(at)
    return seen


def _is_part_of_values(kind: type) -> bool:
    """Whether objects of a class are values, frames, or what those are made of."""
    return kind.__module__.startswith("suture.compiler.") and kind not in _OF_TRACE


def waits(value: object) -> bool:
    """Whether a local variable holds an object that does something when it is freed, which is when
    the frame ends and not before: a generator that has begun, an open file, a temporary folder."""
    if isinstance(value, Generator):
        return value.started and value.frame is not None
    real = getattr(value, "value", None)
    if type(real) is types.CellType:
        real = None if is_empty_cell(real) else real.cell_contents
    if real is None or issubclass(type(real), LASTING):
        return False
    return ends_visibly(real) or (_passes_on(type(real)) and _holds_generator(real, _DEPTH))


def ends_visibly(real: object) -> bool:
    """Whether a program can see when an object is freed: it is a generator or has a finalizer, or
    somebody has a weak reference to it."""
    kind = type(real)
    if issubclass(kind, LASTING):
        return False
    if issubclass(kind, types.GeneratorType) or hasattr(kind, "__del__"):
        return True
    return bool(kind.__weakrefoffset__) and weakref.getweakrefcount(real) > 0


def _passes_on(kind: type) -> bool:
    """Whether what objects of a class refer to may go with them, and may be a generator: iterators
    over others (`enumerate(read())`) and containers."""
    return kind in _CONTAINERS or hasattr(kind, "__next__")


def _holds_generator(real: Any, depth: int) -> bool:
    """Whether an object holds a generator in the midst of its elements, within a few steps."""
    for part in itertools.islice(gc.get_referents(real), _MOST_PARTS):
        kind = type(part)
        if kind is types.GeneratorType:
            if part.gi_suspended:
                return True
        elif depth and _passes_on(kind) and _holds_generator(part, depth - 1):
            return True
    return False


# Objects whose end nobody waits for, though there may be weak references to them: those to the
# context of an autograd function are torch's own.
LASTING = (
    torch.Tensor, torch.nn.Module, torch.autograd.function.BackwardCFunction,
    types.FunctionType, types.ModuleType, type,
)  # fmt: skip


def watch_objects(trace: Trace, values: list[Any]) -> None:
    """Remember the objects that only the state of a point inside of a function may hold: they go
    when the program drops them, not when the region ends. What the caller of a compiled function
    passes it holds itself. Whether something else holds one is asked where it would go: that takes
    a look at every object there is."""
    if trace.region.chain[0].index == 0 and len(trace.region.chain) == 1:
        return
    for value in values:
        if type(getattr(value, "value", None)) is not types.CellType and waits(value):
            trace.finalized.in_state.append(value)


def holds_finalized(trace: Trace) -> bool:
    """Whether there are objects that only the state holds, at whose end something happens."""
    watched = trace.finalized.in_state
    watched[:] = [value for value in watched if not _is_held(value.value)]
    return bool(watched)


def _is_held(real: object) -> bool:
    """Whether something else than states and suture itself holds an object: then it does not end
    when the program drops what a state holds of it. A generator counts as one that goes, and a
    method that only the trace has bound to the object as nothing."""
    if issubclass(type(real), types.GeneratorType):
        return False
    for of in gc.get_referrers(real):
        if is_holder(type(of)) and (type(of) not in _BOUND or _is_held(of)):
            return True
    return False


_BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def is_holder(kind: type) -> bool:
    """Whether what refers to an object and is of this class is the program's, and no frame or
    tuple of arguments."""
    ours = kind.__module__.split(".")[0] == "suture"
    return not ours and kind not in (tuple, types.FrameType)


def dropped_object(trace: Trace) -> Break | None:
    """Why the region ends here: the instruction has dropped an object at whose end something
    happens. None if it has not."""
    held = {id(getattr(v, "value", v)) for f in trace.frames for v in (*f.locals, *f.stack)}
    watched = trace.finalized.in_state
    for value in [value for value in watched if id(value.value) not in held]:
        if _is_held(value.value):
            watched.remove(value)
        elif id(value.value) not in reached(_kept(trace, but=value.value)):
            return Break(objects.FINALIZED_HERE, type=type(value.value).__name__)
    return None
