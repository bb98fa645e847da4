"""Jumps, loops, with blocks, returning."""

from __future__ import annotations

from typing import Any

from suture import config
from suture.breaks import Break, control_flow, internal
from suture.bytecode import pair
from suture.calls.operations.checks import is_tensor_assert
from suture.tracer.frame import Pending
from suture.tracer.opcodes.calls import callable_of
from suture.tracer.opcodes.table import op
from suture.variables import END, NULL, Constant


@op("JUMP", raw=True)
def jump(tx: Any, frame: Any, inst: Any) -> None:
    frame.ip = inst.target


def _branch(name: str, wanted: bool) -> None:
    @op(name, raw=True, run="bool")
    def handler(tx: Any, frame: Any, inst: Any) -> None:
        condition = frame.stack[-1]
        truth = tx.expected_truth(frame, inst, condition)
        if truth is None:
            if wanted and is_tensor_assert(frame, condition):
                raise Break(control_flow.TENSOR_ASSERT, tensor=condition.describe())
            truth = tx.truth(condition)
        taken = truth is wanted
        frame.stack.pop()
        frame.ip = inst.target if taken else frame.ip + 1


_branch("POP_JUMP_IF_TRUE", True)
_branch("POP_JUMP_IF_FALSE", False)


def _none_branch(name: str, wanted: bool) -> None:
    @op(name, raw=True)
    def handler(tx: Any, frame: Any, inst: Any) -> None:
        is_none = tx.same(frame.stack[-1], Constant(None))
        frame.stack.pop()
        frame.ip = inst.target if is_none is wanted else frame.ip + 1


_none_branch("POP_JUMP_IF_NONE", True)
_none_branch("POP_JUMP_IF_NOT_NONE", False)


def _keep_branch(name: str, wanted: bool) -> None:
    @op(name, raw=True, run="bool")
    def handler(tx: Any, frame: Any, inst: Any) -> None:
        if tx.truth(frame.stack[-1]) is wanted:
            frame.ip = inst.target
        else:
            frame.stack.pop()
            frame.ip += 1


_keep_branch("JUMP_IF_TRUE_OR_POP", True)
_keep_branch("JUMP_IF_FALSE_OR_POP", False)


@op("RETURN_VALUE", raw=True)
def return_value(tx: Any, frame: Any, inst: Any) -> None:
    tx.leave_frame(frame, frame.stack[-1])


@op("GET_ITER", run="iter")
def get_iter(tx: Any, inst: Any, value: Any) -> Any:
    return tx.iterate(value)


@op("FOR_ITER", raw=True, run="next")
def for_iter(tx: Any, frame: Any, inst: Any) -> None:
    iterator = frame.stack[-1]
    loop = (id(frame), frame.ip)
    tx.turns[loop] = turns = tx.turns.get(loop, 0) + 1
    if turns > config.unroll_limit:
        raise Break(internal.UNROLL_LIMIT, count=str(turns - 1))
    item = tx.advance_in_loop(frame, iterator)
    if isinstance(item, Pending):
        return
    if item is END:
        frame.stack.pop()
        frame.ip = inst.target
    else:
        frame.stack.append(item)
        frame.ip += 1


@op("BEFORE_WITH", raw=True, run="before_with")
def before_with(tx: Any, frame: Any, inst: Any) -> None:
    manager = frame.stack[-1]
    enter, leave = tx.with_methods(manager)
    entered = tx.tail_call(enter, [], {})
    frame.stack[-1:] = pair(leave, NULL) if inst.val else (leave,)
    frame.ip += 1
    if isinstance(entered, Pending):
        tx.push_frame(entered.frame)
    else:
        frame.stack.append(entered)


@op("WITH_EXCEPT_START", raw=True, run="with_except_start")
def with_except_start(tx: Any, frame: Any, inst: Any) -> None:
    exc = frame.stack[-1]
    told = [tx.type_of(exc), exc, tx.traceback_of(exc)]
    if inst.val:
        leave, args = callable_of([*frame.stack[-5:-3], *told])
    else:
        leave, args = frame.stack[-4], told
    result = tx.tail_call(leave, args, {})
    frame.ip += 1
    if isinstance(result, Pending):
        tx.push_frame(result.frame)
    else:
        frame.stack.append(result)
