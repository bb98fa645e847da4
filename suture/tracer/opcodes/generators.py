"""Generators: their bodies are inlined, one turn at a time."""

from __future__ import annotations

import inspect
import types
from typing import Any

from suture.tracer.opcodes.table import op
from suture.variables import Constant, Raised


@op("RETURN_GENERATOR", raw=True)
def return_generator(tx: Any, frame: Any, inst: Any) -> None:
    frame.stack.append(Constant(None))
    frame.ip += 1


@op("YIELD_VALUE", raw=True)
def yield_value(tx: Any, frame: Any, inst: Any) -> None:
    tx.yield_frame(frame)


@op("GET_YIELD_FROM_ITER", run="yield_from_iter")
def get_yield_from_iter(tx: Any, inst: Any, value: Any) -> Any:
    flags = tx.frames[-1].code.code.co_flags
    coroutine = issubclass(value.python_type(), types.CoroutineType)
    if coroutine and not flags & (inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE):
        text = "cannot 'yield from' a coroutine object in a non-coroutine generator"
        return tx.raise_(TypeError, text)
    if coroutine:
        return tx.refuse_async("GET_YIELD_FROM_ITER")
    return tx.iterate(value)


@op("SEND", raw=True, run="send")
def send(tx: Any, frame: Any, inst: Any) -> None:
    tx.send_frame(frame, inst)


@op("END_SEND")
def end_send(tx: Any, inst: Any, receiver: Any, value: Any) -> Any:
    return value


@op("STOPITERATION_ERROR")
def stopiteration_error(tx: Any, inst: Any, exc: Any) -> Any:
    return tx.stopiteration_error(exc, tx.frames[-1])


@op("ASYNC_GEN_WRAP")
def async_gen_wrap(tx: Any, inst: Any, value: Any) -> Any:
    """CPython wraps and yields in one go."""
    return tx.yield_outermost(tx.frames[-1])


def _python(name: str, run: str) -> None:
    """What only the event loop's side knows: Python runs it."""

    @op(name, run=run)
    def handler(tx: Any, inst: Any, *inputs: Any) -> Any:
        return tx.refuse_async(name)


_python("GET_AWAITABLE", "get_awaitable")
_python("GET_AITER", "get_aiter")
_python("GET_ANEXT", "get_anext")
_python("END_ASYNC_FOR", "end_async_for")
_python("BEFORE_ASYNC_WITH", "before_async_with")


@op("CLEANUP_THROW", run="cleanup_throw")
def cleanup_throw(tx: Any, inst: Any, receiver: Any, sent: Any, exc: Any) -> Any:
    if issubclass(exc.python_type(), StopIteration):
        return Constant(None), tx.getattr(exc, "value")
    raise Raised(exc)
