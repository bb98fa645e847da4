"""Generators: their bodies are inlined, one turn at a time."""

from __future__ import annotations

import inspect
import types
from typing import Any

from suture.bytecode import Instruction, iterator_slots
from suture.compiler import abstract
from suture.compiler.calls.functions import refuse_async
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.language import exceptions
from suture.compiler.language.generators import send_frame, yield_frame, yield_outermost
from suture.compiler.objects import NULL, Constant, Raised


@op("RETURN_GENERATOR", raw=True)
def return_generator(trace: Trace, frame: Frame, inst: Instruction) -> None:
    frame.stack.append(Constant(None))
    frame.ip += 1


@op("YIELD_VALUE", raw=True)
def yield_value(trace: Trace, frame: Frame, inst: Instruction) -> None:
    yield_frame(trace, frame)


@op("GET_YIELD_FROM_ITER", run="yield_from_iter")
def get_yield_from_iter(trace: Trace, inst: Instruction, value: Value) -> Value:
    flags = trace.frames[-1].code.code.co_flags
    coroutine = issubclass(value.python_type(), types.CoroutineType)
    if coroutine and not flags & (inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE):
        text = "cannot 'yield from' a coroutine object in a non-coroutine generator"
        return abstract.raise_(trace, TypeError, text)
    if coroutine:
        return refuse_async(trace, "GET_YIELD_FROM_ITER")
    return abstract.iterate(trace, value)


@op("SEND", raw=True, run="send")
def send(trace: Trace, frame: Frame, inst: Instruction) -> None:
    send_frame(trace, frame, inst)


@op("END_SEND")
def end_send(trace: Trace, inst: Instruction, *inputs: Value) -> Value:
    return inputs[-1]


@op("STOPITERATION_ERROR")
def stopiteration_error(trace: Trace, inst: Instruction, exc: Value) -> Value:
    return exceptions.stopiteration_error(trace, exc, trace.frames[-1])


@op("ASYNC_GEN_WRAP")
def async_gen_wrap(trace: Trace, inst: Instruction, value: Any) -> Any:
    """CPython wraps and yields in one go."""
    return yield_outermost(trace, trace.frames[-1])


def _python(name: str, run: str) -> None:
    """What only the event loop's side knows: Python runs it."""

    @op(name, run=run)
    def handler(trace: Trace, inst: Instruction, *inputs: Value) -> Value:
        return refuse_async(trace, name)


_python("GET_AWAITABLE", "get_awaitable")
_python("GET_AITER", "get_aiter")
_python("GET_ANEXT", "get_anext")
_python("END_ASYNC_FOR", "end_async_for")
_python("BEFORE_ASYNC_WITH", "before_async_with")


@op("CLEANUP_THROW", run="cleanup_throw")
def cleanup_throw(trace: Trace, inst: Instruction, *inputs: Value) -> Any:
    exc = inputs[-1]
    if issubclass(exc.python_type(), StopIteration):
        none = [Constant(None), NULL][: iterator_slots(inst)]
        return *none, abstract.getattr(trace, exc, "value")
    raise Raised(exc)
