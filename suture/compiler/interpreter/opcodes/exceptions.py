"""Raising and handling."""

from __future__ import annotations

from suture.breaks import Break, objects
from suture.bytecode import Instruction
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.language.exception_groups import joined, taken
from suture.compiler.language.exceptions import do_raise, exception_matches, handled_by_caller
from suture.compiler.objects import Constant, Raised


@op("RAISE_VARARGS", raw=True, run="raise")
def raise_varargs(trace: Trace, frame: Frame, inst: Instruction) -> None:
    parts = frame.stack[len(frame.stack) - inst.val :]
    do_raise(trace, frame, parts)


@op("RERAISE", raw=True)
def reraise(trace: Trace, frame: Frame, inst: Instruction) -> None:
    raise Raised(frame.stack[-1])


@op("PUSH_EXC_INFO", raw=True)
def push_exc_info(trace: Trace, frame: Frame, inst: Instruction) -> None:
    exc = frame.stack[-1]
    frame.stack[-1] = frame.handled
    if frame.code.is_generator and not frame.code.handled(frame.ip):
        frame.stack[-1] = Constant(None)  # what its caller handles is not the generator's
    frame.stack.append(exc)
    frame.handled = exc
    frame.ip += 1


@op("POP_EXCEPT", raw=True)
def pop_except(trace: Trace, frame: Frame, inst: Instruction) -> None:
    if frame.code.is_generator and not frame.code.handled(frame.ip + 1):
        if (
            frame.resumed and trace.handling.began_handling
        ):  # only the real frame knows what lies behind
            raise Break(objects.UNKNOWN_OBJECT, operation="go back to", object="what was handled")
        frame.stack.pop()
        frame.handled = handled_by_caller(trace, frame)
    else:
        frame.handled = frame.stack.pop()
    frame.ip += 1


@op("CHECK_EXC_MATCH", raw=True, run="check_exc_match")
def check_exc_match(trace: Trace, frame: Frame, inst: Instruction) -> None:
    exc, kind = frame.stack[-2:]
    matched = exception_matches(trace, exc, kind)
    frame.stack[-1] = Constant(matched)
    frame.ip += 1


@op("CHECK_EG_MATCH", raw=True, run="check_eg_match")
def check_eg_match(trace: Trace, frame: Frame, inst: Instruction) -> None:
    exc, kind = frame.stack[-2:]
    matched, rest = taken(trace, exc, kind)
    frame.stack[-2:] = [rest, matched]
    if not (matched.is_constant() and matched.constant() is None):
        frame.handled = matched
    frame.ip += 1


@op("PREP_RERAISE_STAR", run="prep_reraise_star")
def prep_reraise_star(trace: Trace, inst: Instruction, original: Value, excs: Value) -> Value:
    return joined(trace, original, excs)
