"""Jumps, loops, with blocks, returning."""

from __future__ import annotations

from typing import Any

from suture import config
from suture.breaks import Break, internal
from suture.bytecode import Instruction, iterator_slots, pair
from suture.compiler import abstract
from suture.compiler.core import Frame, Pending, Trace, Value
from suture.compiler.interpreter.opcodes.calls import callable_of
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.interpreter.run import leave_frame, push_frame
from suture.compiler.language.contexts import with_methods
from suture.compiler.language.exceptions import type_of
from suture.compiler.language.generators import advance_in_loop
from suture.compiler.objects import END, NULL, Constant
from suture.compiler.outside.identity import is_same
from suture.compiler.torch.checks import truth_at_branch


@op("JUMP", raw=True)
def jump(trace: Trace, frame: Any, inst: Any) -> None:
    frame.ip = inst.target


def _branch(name: str, wanted: bool) -> None:
    @op(name, raw=True, run="bool")
    def handler(trace: Trace, frame: Any, inst: Any) -> None:
        taken = truth_at_branch(trace, frame, inst, frame.stack[-1]) is wanted
        frame.stack.pop()
        frame.ip = inst.target if taken else frame.ip + 1


_branch("POP_JUMP_IF_TRUE", True)
_branch("POP_JUMP_IF_FALSE", False)


def _none_branch(name: str, wanted: bool) -> None:
    @op(name, raw=True)
    def handler(trace: Trace, frame: Any, inst: Any) -> None:
        is_none = is_same(trace, frame.stack[-1], Constant(None))
        frame.stack.pop()
        frame.ip = inst.target if is_none is wanted else frame.ip + 1


_none_branch("POP_JUMP_IF_NONE", True)
_none_branch("POP_JUMP_IF_NOT_NONE", False)


def _keep_branch(name: str, wanted: bool) -> None:
    @op(name, raw=True, run="bool")
    def handler(trace: Trace, frame: Any, inst: Any) -> None:
        if abstract.truth(trace, frame.stack[-1]) is wanted:
            frame.ip = inst.target
        else:
            frame.stack.pop()
            frame.ip += 1


_keep_branch("JUMP_IF_TRUE_OR_POP", True)
_keep_branch("JUMP_IF_FALSE_OR_POP", False)


@op("RETURN_VALUE", raw=True)
def return_value(trace: Trace, frame: Frame, inst: Instruction) -> None:
    leave_frame(trace, frame, frame.stack[-1])


@op("GET_ITER", run="iter")
def get_iter(trace: Trace, inst: Instruction, value: Value) -> Value:
    return abstract.iterate(trace, value)


@op("FOR_ITER", raw=True, run="next")
def for_iter(trace: Trace, frame: Any, inst: Any) -> None:
    slots = iterator_slots(inst)
    iterator = frame.stack[-slots]
    loop = (id(frame), frame.ip)
    trace.progress.loop_turns[loop] = turns = trace.progress.loop_turns.get(loop, 0) + 1
    if turns > config.unroll_limit:
        raise Break(internal.UNROLL_LIMIT, count=str(turns - 1))
    item = advance_in_loop(trace, frame, iterator)
    if isinstance(item, Pending):
        return
    if item is END:
        del frame.stack[-slots:]
        frame.ip = inst.target
    else:
        frame.stack.append(item)
        frame.ip += 1


@op("BEFORE_WITH", raw=True, run="before_with")
def before_with(trace: Trace, frame: Frame, inst: Instruction) -> None:
    manager = frame.stack[-1]
    enter, leave = with_methods(trace, manager)
    entered = abstract.tail_call(trace, enter, [], {})
    frame.stack[-1:] = pair(leave, NULL) if inst.val else (leave,)
    frame.ip += 1
    if isinstance(entered, Pending):
        push_frame(trace, entered.frame)
    else:
        frame.stack.append(entered)


@op("WITH_EXCEPT_START", raw=True, run="with_except_start")
def with_except_start(trace: Trace, frame: Frame, inst: Instruction) -> None:
    exc = frame.stack[-1]
    told = [type_of(trace, exc), exc, abstract.traceback_of(trace, exc)]
    if inst.val:
        leave, args = callable_of([*frame.stack[-5:-3], *told])
    else:
        leave, args = frame.stack[-4], told
    result = abstract.tail_call(trace, leave, args, {})
    frame.ip += 1
    if isinstance(result, Pending):
        push_frame(trace, result.frame)
    else:
        frame.stack.append(result)
