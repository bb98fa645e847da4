"""Generators: their bodies are inlined, one turn at a time."""

from __future__ import annotations

from typing import Any

from suture.tracer.opcodes.table import op
from suture.variables import Constant


@op("RETURN_GENERATOR", raw=True)
def return_generator(tx: Any, frame: Any, inst: Any) -> None:
    frame.stack.append(Constant(None))
    frame.ip += 1


@op("YIELD_VALUE", raw=True, run="yield")
def yield_value(tx: Any, frame: Any, inst: Any) -> None:
    tx.yield_frame(frame)


@op("GET_YIELD_FROM_ITER", run="iter")
def get_yield_from_iter(tx: Any, inst: Any, value: Any) -> Any:
    return tx.iterate(value)


@op("SEND", raw=True, run="send")
def send(tx: Any, frame: Any, inst: Any) -> None:
    tx.send_frame(frame, inst)


@op("END_SEND")
def end_send(tx: Any, inst: Any, receiver: Any, value: Any) -> Any:
    return value


@op("STOPITERATION_ERROR")
def stopiteration_error(tx: Any, inst: Any, exc: Any) -> Any:
    return tx.stopiteration_error(exc)


@op("ASYNC_GEN_WRAP", run="async_gen_wrap")
def async_gen_wrap(tx: Any, inst: Any, value: Any) -> Any:
    return tx.refuse_async("ASYNC_GEN_WRAP")
