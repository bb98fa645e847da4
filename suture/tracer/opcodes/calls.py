"""Calls and functions."""

from __future__ import annotations

from typing import Any

from suture.tracer.opcodes.table import op
from suture.variables import NULL, Constant, MadeFunction


@op("CALL", run="call")
def call(tx: Any, inst: Any, *parts: Any) -> Any:
    fn, args = callable_of(parts)
    names = inst.val
    kwargs = {}
    if names:
        count = len(names)
        kwargs = dict(zip(names, args[-count:]))
        args = args[:-count]
    return tx.tail_call(fn, args, kwargs)


def callable_of(parts: Any) -> tuple[Any, list[Any]]:
    """The callable and its arguments from the pair below the arguments."""
    first, second, *args = parts
    if first is NULL:
        return second, args
    if second is NULL:
        return first, args
    return first, [second, *args]


@op("CALL_FUNCTION_EX", run="call_ex")
def call_function_ex(tx: Any, inst: Any, *parts: Any) -> Any:
    first, second = parts[0], parts[1]
    fn = second if first is NULL else first
    args = list(tx.unpack(parts[2]))
    kwargs = {}
    if len(parts) > 3:
        for key, value in tx.dict_pairs(parts[3]):
            name = tx.constant_value(key)
            if not isinstance(name, str):
                tx.raise_(TypeError, "keywords must be strings")
            kwargs[name] = value
    return tx.tail_call(fn, args, kwargs)


@op("MAKE_FUNCTION")
def make_function(tx: Any, inst: Any, *parts: Any) -> Any:
    made = MadeFunction(parts[-1].real(), tx.frames[-1].fn.globals, [], [], {})
    for name, value in zip(inst.val, parts):
        _attribute(tx, made, name, value)
    return made


@op("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(tx: Any, inst: Any, value: Any, made: Any) -> Any:
    for name in (inst.val,) if isinstance(inst.val, str) else inst.val:
        _attribute(tx, made, name, value)
    return made


def _attribute(tx: Any, made: MadeFunction, name: str, value: Any) -> None:
    if name == "defaults":
        made._defaults = list(tx.unpack(value))
    elif name == "kwdefaults":
        made.kwdefaults = {tx.constant_value(k): v for k, v in tx.dict_pairs(value)}
    elif name == "closure":
        made.closure = list(tx.unpack(value))
    elif name == "annotate":
        made.annotate = value
    else:
        made.annotations = tx.annotations(value)


def none() -> Constant:
    return Constant(None)
