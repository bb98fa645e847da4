"""The symbolic interpreter: runs the frames of a region until it must stop."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from suture.breaks import Break, Leaves, calls, internal, objects
from suture.bytecode import Code, Instruction, decode
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.capture import Again, Capture, Exit, Interpret, Return, Run, Yield
from suture.compiler.core import Frame, Handling, Mark, Modes, Pending, Region, Trace, Value
from suture.compiler.graph import Span, sizes_from_zero
from suture.compiler.interpreter.caught import is_caught
from suture.compiler.interpreter.ending import (
    Replanned,
    Restart,
    Stopped,
    Uncaught,
    leave_bodies,
    needs_sizes,
    refuse_seen_bodies,
    refuse_unfinished_body,
    stop_at_drop,
)
from suture.compiler.interpreter.limits import turned, weigh
from suture.compiler.interpreter.lines import raises_again
from suture.compiler.interpreter.loading import load_state
from suture.compiler.interpreter.locations import span_now, stack_trace, where_now
from suture.compiler.interpreter.opcodes.table import HANDLERS
from suture.compiler.language.dropped import (
    close_at_end,
    close_dropped,
    leave_frames,
    order_of_end,
)
from suture.compiler.language.exceptions import Ambient
from suture.compiler.language.generators import generator_returns
from suture.compiler.library.strictness import Strictness
from suture.compiler.objects import Raise, Raised
from suture.compiler.outside.aliasing import guard_aliasing
from suture.compiler.outside.growth import growth
from suture.compiler.outside.inputs import guard_numbers
from suture.compiler.outside.made_classes import guard_made_classes
from suture.compiler.outside.tensor_free import tensor_free_frame, whole_substitute
from suture.compiler.outside.unread_literals import guard_unread
from suture.compiler.plan import Plan, Retry
from suture.compiler.torch.checks import refused_check
from suture.compiler.torch.function_modes import begin_modes
from suture.compiler.torch.optimizer_state import makes_optimizer_state
from suture.compiler.torch.overrides import torch_functions_on
from suture.compiler.torch.parameters import refused_copy
from suture.compiler.torch.symbols import unbacked_decision
from suture.runtime import Chain, signals
from suture.torch_private import MissingName, symbolic_shapes


def new_trace(
    chain: Chain,
    state: tuple[Any, ...],
    history: Any,
    plan: Plan,
    modes: list[Any] | None = None,
    *,
    whole: bool = False,
    allowance: float = math.inf,
) -> Trace:
    """A trace of a region, at its start. `history` remembers what changed between earlier calls
    of this point, and `plan` says what to take for granted; `modes` are the modes of torch
    functions that were active, outermost first. `whole`: a break would be an error. `allowance`:
    after how many instructions the region must show operations."""
    last = chain[-1]  # a generator that was left while it handled an exception
    began_handling = last.resumed and decode(last.code).handled(last.index) > 0
    region = Region(chain, history, plan, whole)
    switches = Modes(torch_functions_on(), Strictness())
    trace = Trace(region, Handling(began_handling), switches, allowance)
    trace.guards.where = functools.partial(where_now, trace)
    trace.graph.stack = functools.partial(stack_trace, trace)
    trace.graph.span = functools.partial(span_now, trace)
    trace.graph.decided = functools.partial(guard_numbers, trace)
    trace.graph.decisions.where = functools.partial(where_now, trace)
    begin_modes(trace, modes or [])
    load_state(trace, state)
    return trace


# ---- running


def run_region(trace: Trace) -> Capture | Retry:
    """Trace until the region ends. What was really switched meanwhile is as it was before."""
    try:
        with sizes_from_zero(trace.region.plan.from_zero):
            exit = _region(trace)
        return growth(trace, exit) or needs_sizes(trace.region.plan, exit) or _captured(trace, exit)
    except Restart as restart:
        return restart.retry(trace)
    except Replanned as again:
        return again.retry
    finally:
        for restore in reversed(trace.modes.restores):
            restore()


def _region(trace: Trace) -> Exit:
    """Run the frames; how the region ends. May raise Restart or Replanned."""
    exit: Exit
    try:
        exit = Return(run_frames(trace, 0))
        if trace.copied:
            _drop_locals(trace)
    except Break as reason:
        exit = _stop(trace, reason)
    except Uncaught:
        exit = Interpret(raises=True)
        _must_be_clean(trace, exit, "the program raises")
    except Stopped as stop:
        exit = stop.exit
    except (RecursionError, MemoryError) as error:
        fault = Break(calls.TRACING_OUT_OF_ROOM, error=type(error).__name__)
        raise Restart(trace.progress.step, exit_at(trace, fault), str(fault)) from None
    except MissingName as error:
        fault = Break(internal.MISSING_NAME, name=error.path)
        raise Restart(trace.progress.step, exit_at(trace, fault), str(fault)) from None
    refuse_unfinished_body(trace)
    refuse_seen_bodies(trace)
    _refuse(trace, refused_check(trace), "what is written before a check cannot be taken back")
    _refuse(trace, refused_copy(trace), "others see the memory of a leaf that is made here")
    guard_aliasing(trace)
    guard_made_classes(trace)
    guard_unread(trace)
    trace.guards.where = None  # nothing of the trace outlives it
    trace.graph.stack = trace.graph.decisions.where = trace.graph.decided = _no_stack
    trace.graph.span = _no_stack
    return exit


def _drop_locals(trace: Trace) -> None:
    """The frames have returned: nobody holds what is in their variables alone."""
    for frame in trace.frames:
        frame.locals[:] = [None] * len(frame.locals)


def _refuse(trace: Trace, found: tuple[int, Any] | None, reason: str) -> None:
    if found is not None:
        raise Restart(*found, reason)


def _captured(trace: Trace, exit: Exit) -> Capture:
    if trace.region.plan.stop is not None:
        trace.guards.entries += trace.region.plan.stop.assumed
    return Capture(
        frames=trace.frames,
        exit=exit,
        graph=trace.graph,
        guards=trace.guards,
        effects=trace.effects,
        slots=trace.region.slots,
        modes=trace.modes.changed,
        functions=(trace.modes.modes_at_start, trace.modes.function_modes),
        strictness=trace.modes.strictness,
        number_sources=trace.numbers.number_sources,
        checks=trace.checks,
        withheld=trace.withheld,
        draws=trace.numbers.draws,
        steps=trace.progress.step,
        general=trace.region.as_loop,
        initializes=trace.region.initializes,
        first_step=makes_optimizer_state(trace),
        inlined=frozenset(trace.region.inlined),
        hashes=trace.outside.hashes,
    )


def _stop(trace: Trace, reason: Break) -> Any:
    _leave_call(trace, reason)
    exit = exit_at(trace, reason)
    _must_be_clean(trace, exit, str(reason))
    return exit


def _leave_call(trace: Trace, reason: Break) -> None:
    """If the break came up in a call that can meet no tensor, stop before that call; if only
    the rest of a call cannot, Python runs that rest. A substitute that is whole or not at all
    counts as such a call: Python calls what it stands for."""
    depth = min(trace.progress.mark.depth, len(trace.frames))
    found = whole_substitute(trace, depth) or tensor_free_frame(trace, depth)
    if found is None or reason.type.leaves is Leaves.YIELD:
        return
    index, whole = found
    at = [(f.code, f.ip - 1) for f in trace.frames[:-1]]
    at.append((trace.frames[-1].code, trace.frames[-1].ip))
    rest = f"the interpreter runs the rest of a call, which meets no tensor: {reason}"
    if whole:
        caller = trace.frames[index - 1]
        inst = caller.code.instructions[caller.ip - 1]
        operation = HANDLERS[inst.op].run
        if operation is not None:
            exit: Any = Run(inst, operation, reason, at[index:])
            why = f"Python makes the whole call, which leaves nothing for a graph: {reason}"
            raise Restart(_call_step(trace.frames[index]), exit, why)
    elif index + 1 < depth:
        exit = Interpret(False, reason, at[index + 1 :])
        raise Restart(_call_step(trace.frames[index + 1]), exit, rest)
    else:
        raise Restart(trace.progress.step, Interpret(False, reason, at[index + 1 :]), rest)


@implements(abstract.exit_at)
def exit_at(trace: Trace, reason: Break) -> Exit:
    frame = trace.frames[min(trace.progress.mark.depth, len(trace.frames)) - 1]
    inst = frame.code.instructions[frame.ip]
    match reason.type.leaves:
        case Leaves.YIELD:
            return Yield(inst, reason)
        case Leaves.NOTHING:
            return Again(reason)
        case Leaves.FRAME:
            return Interpret(False, reason)
    operation = HANDLERS[inst.op].run if inst.op in HANDLERS else None
    return Run(inst, operation, reason) if operation else Interpret(False, reason)


def _must_be_clean(trace: Trace, exit: object, reason: str) -> None:
    """Nothing may have changed since the instruction began; else trace again up to it."""
    if _now(trace) != trace.progress.mark:
        raise Restart(trace.progress.step, exit, f"in the midst of an instruction: {reason}")
    del trace.effects.passed[trace.progress.passed :]


def _now(trace: Trace) -> Mark:
    return Mark(trace.effects.changes, trace.graph.ops, len(trace.frames))


@implements(abstract.loop)
def run_frames(trace: Trace, base_depth: int) -> Any:
    progress, frames, effects = trace.progress, trace.frames, trace.effects
    handling, finalized, graph = trace.handling, trace.finalized, trace.graph
    new = tuple.__new__  # what Mark(...) ends in: this is done for each instruction
    saved, progress.base_depth = progress.base_depth, base_depth
    try:
        while True:
            frame = frames[-1]
            inst = frame.code.instructions[frame.ip]
            if base_depth == 0:
                progress.step += 1
                changes, operations, depth = progress.mark
                if changes != effects.changes or operations != graph.ops or depth != len(frames):
                    progress.mark = new(Mark, (effects.changes, graph.ops, len(frames)))
                progress.passed = len(effects.passed)
                if progress.step == progress.last_step and trace.region.plan.stop is not None:
                    raise Stopped(trace.region.plan.stop.exit)
            if trace.optional:
                leave_bodies(trace, frame)
            progress.work += 1
            if progress.work > progress.allowed:
                weigh(trace)
            if signals.waiting:
                signals.arrive()
            ops = trace.graph.ops
            try:
                execute(trace, frame, inst)
                if ops != trace.graph.ops and not trace.graph.caught:
                    trace.graph.caught = is_caught(trace, frame, inst)
            except Raised as raised:
                if not unwind(trace, raised.exception, base_depth):
                    raise
            except symbolic_shapes.GuardOnDataDependentSymNode as error:
                # a handler that asked for a size of data, as if it were known
                raise unbacked_decision(trace, error) from None
            if frame.ip <= inst.index:
                turned(trace, frame)
            result, progress.result = progress.result, None
            if handling.waiting:
                order = order_of_end(frame)
                del frame  # it may be the last that knows of them
                _drop(trace, inst, result, order)
            if result is not None:
                return result
            watched = finalized.in_state or finalized.in_containers or finalized.unread
            if base_depth == 0 and (watched or finalized.scanned < len(effects.touched)):
                stop_at_drop(trace)
    finally:
        progress.base_depth = saved


def _drop(trace: Trace, inst: Instruction, result: Any, order: list[int]) -> None:
    """Close the generators that the instruction, or the end of the region, has dropped; those of
    one frame in the order in which it frees its variables (`order`: the ids of what these held)."""
    try:
        if result is not None and trace.progress.base_depth == 0:
            close_at_end(trace, result, order)
        else:
            close_dropped(trace, order)
    except Break as reason:
        if trace.progress.base_depth:
            raise
        run = HANDLERS[inst.op].run
        exit = Run(inst, run, reason) if run else Interpret(False, reason)
        why = f"closing a generator that is dropped here: {reason}"
        raise Restart(trace.progress.step, exit, why) from None


def execute(trace: Trace, frame: Frame, inst: Instruction) -> None:
    progress = trace.progress
    if progress.watch is not None:
        progress.watch(trace, frame, inst)
    handler = HANDLERS.get(inst.op)
    if handler is None:
        from suture.breaks import python

        raise Break(python.UNKNOWN_INSTRUCTION, opcode=inst.op)
    if progress.limit_reached is not None and (handler.run or progress.base_depth):
        raise progress.limit_reached
    if handler.raw:
        handler.fn(trace, frame, inst)
        return
    stack = frame.stack
    pops = handler.pops
    count = pops if isinstance(pops, int) else pops(inst)
    inputs = stack[len(stack) - count :] if count else ()
    out = handler.fn(trace, inst, *inputs)
    if count:
        del stack[-count:]
    frame.ip += 1
    if out is None:
        return
    kind = type(out)
    if kind is Pending:
        if progress.base_depth == 0:
            out.frame.call = (progress.step, tuple(out.frame.locals))
        trace.frames.append(out.frame)
    elif kind is tuple:
        stack.extend(out)
    else:
        stack.append(out)


@implements(abstract.finish)
def finish_call(trace: Trace, result: Value) -> Value:
    if type(result) is not Pending:
        return result
    base_depth = len(trace.frames)
    trace.frames.append(result.frame)
    value: Value = run_frames(trace, base_depth)
    return value


@implements(abstract.pending)
def pending_frame(trace: Trace, frame: Frame) -> Pending:
    return Pending(frame)


def push_frame(trace: Trace, frame: Frame) -> None:
    trace.frames.append(frame)


@implements(abstract.new_frame)
def new_frame(trace: Trace, code: Code, fn: Callable[..., Any], slots: list[Any]) -> Frame:
    trace.region.inlined.add(code.code)
    caller = trace.frames[-1] if trace.frames else None
    frame = Frame(code, fn, slots, caller.handled if caller is not None else Ambient())
    frame.span = Span(code.code, caller.span if caller is not None else None)
    return frame


def leave_frame(trace: Trace, frame: Frame, value: Value) -> None:
    """A frame returns: its caller gets the value."""
    if frame.generator is not None:
        generator_returns(trace, frame, value)
        return
    if frame.deliver is not None:
        if not (value.is_constant() and value.constant() is None):
            what = value.describe()
            raise Break(objects.UNKNOWN_OBJECT, operation="return from __init__", object=what)
        value = frame.deliver
    if len(trace.frames) - 1 == trace.progress.base_depth:
        trace.progress.result = value
        if trace.progress.base_depth == 0:
            return  # the outermost frame stays, for its line
        trace.frames.pop()
        return
    trace.frames.pop()
    trace.frames[-1].stack.append(value)


@implements(abstract.unwind)
def unwind(trace: Trace, exc: Value, base_depth: int) -> bool:
    depth = len(trace.frames)
    passed = []
    while depth > base_depth:
        frame = trace.frames[depth - 1]
        inner = depth == len(trace.frames)
        inst = frame.code.instructions[frame.ip if inner else frame.ip - 1]
        if not inner or not raises_again(inst):
            passed.append((frame.code.code, frame.fn.globals, inst.lasti))
        if inst.handler is not None:
            _note_passed(trace, exc, passed)
            _handle(trace, frame, inst, exc, depth)
            return True
        depth -= 1
    if base_depth == 0:
        raise Uncaught from None
    _note_passed(trace, exc, passed)
    leave_frames(trace, exc, base_depth)
    return False


def _note_passed(trace: Trace, exc: Value, passed: list[Any]) -> None:
    """Entries of the exception's traceback, innermost first."""
    if isinstance(exc, Raise):
        exc.traceback += passed
    else:
        trace.effects.passed += [(exc, *entry) for entry in passed]


def _handle(trace: Trace, frame: Frame, inst: Any, exc: Any, depth: int) -> None:
    from suture.compiler.objects import Constant

    leave_frames(trace, exc, depth)
    handler = inst.handler
    del frame.stack[handler.depth :]
    if handler.lasti:
        frame.stack.append(Constant(inst.lasti // 2))
    frame.stack.append(exc)
    frame.ip = handler.target


# ---- where we are


def _no_stack(*_: Any) -> None:
    return None


def _call_step(frame: Frame) -> int:
    """The step of the instruction that called a frame."""
    assert frame.call is not None
    return frame.call[0]


__all__ = ["new_trace", "run_region"]
