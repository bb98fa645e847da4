"""Raising and handling."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, objects
from suture.tracer.opcodes.table import op
from suture.variables import Constant, Raised


@op("RAISE_VARARGS", raw=True, run="raise")
def raise_varargs(tx: Any, frame: Any, inst: Any) -> None:
    parts = frame.stack[len(frame.stack) - inst.val :]
    tx.do_raise(frame, parts)


@op("RERAISE", raw=True)
def reraise(tx: Any, frame: Any, inst: Any) -> None:
    raise Raised(frame.stack[-1])


@op("PUSH_EXC_INFO", raw=True)
def push_exc_info(tx: Any, frame: Any, inst: Any) -> None:
    exc = frame.stack[-1]
    frame.stack[-1] = frame.handled
    if frame.code.is_generator and not frame.code.handled(frame.ip):
        frame.stack[-1] = Constant(None)  # what its caller handles is not the generator's
    frame.stack.append(exc)
    frame.handled = exc
    frame.ip += 1


@op("POP_EXCEPT", raw=True)
def pop_except(tx: Any, frame: Any, inst: Any) -> None:
    if frame.code.is_generator and not frame.code.handled(frame.ip + 1):
        if frame.resumed and tx.began_handling:  # only the real frame knows what lies behind
            raise Break(objects.UNKNOWN_OBJECT, operation="go back to", object="what was handled")
        frame.stack.pop()
        frame.handled = tx.handled_by_caller(frame)
    else:
        frame.handled = frame.stack.pop()
    frame.ip += 1


@op("CHECK_EXC_MATCH", raw=True, run="check_exc_match")
def check_exc_match(tx: Any, frame: Any, inst: Any) -> None:
    exc, kind = frame.stack[-2:]
    matched = tx.exception_matches(exc, kind)
    frame.stack[-1] = Constant(matched)
    frame.ip += 1
