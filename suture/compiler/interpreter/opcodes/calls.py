"""Calls and functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from suture.bytecode import TUPLE_ASKS, Instruction
from suture.compiler import abstract
from suture.compiler.calls.unread import passed_to, takes_unread
from suture.compiler.core import Trace, Value
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.objects import NULL, Constant, Dict, MadeFunction, Tuple
from suture.compiler.outside.namespaces import frame_annotations


@op("CALL", run="call")
def call(trace: Trace, inst: Instruction, *parts: object) -> Any:
    fn, args = callable_of(parts)
    args = passed_to(trace, fn, args)
    names = inst.val
    kwargs = {}
    if names:
        count = len(names)
        kwargs = dict(zip(names, args[-count:]))
        args = args[:-count]
    return abstract.tail_call(trace, fn, args, kwargs)


def callable_of(parts: Any) -> tuple[Any, list[Any]]:
    """The callable and its arguments from the pair below the arguments."""
    first, second, *args = parts
    if first is NULL:
        return second, args
    if second is NULL:
        return first, args
    return first, [second, *args]


@op("CALL_FUNCTION_EX", run="call_ex")
def call_function_ex(trace: Trace, inst: Instruction, *parts: Value) -> Value:
    first, second = parts[0], parts[1]
    fn = second if first is NULL else first
    unread = takes_unread(fn)
    if unread and isinstance(parts[2], Tuple):
        args: list[Any] = list(parts[2].items)
    else:
        args = list(abstract.unpack(trace, parts[2], asked=TUPLE_ASKS))
    kwargs = {}
    if len(parts) > 3:
        for key, value in _pairs(trace, parts[3], unread):
            name = abstract.constant_value(trace, key)
            if not isinstance(name, str):
                abstract.raise_(trace, TypeError, "keywords must be strings")
            kwargs[name] = value
    return abstract.tail_call(trace, fn, args, kwargs)


def _pairs(trace: Trace, mapping: Value, unread: bool) -> Iterable[tuple[Any, Any]]:
    """The keywords of a call, with values that nobody has looked at if the call takes such."""
    if unread and type(mapping) is Dict:
        return mapping.load(trace).values()
    return abstract.dict_pairs(trace, mapping)


@op("MAKE_FUNCTION")
def make_function(trace: Trace, inst: Instruction, *parts: Value) -> Value:
    made = MadeFunction(parts[-1].real(), trace.frames[-1].fn.globals, [], [], {})
    for name, value in zip(inst.val, parts):
        _attribute(trace, made, name, value)
    return made


@op("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(
    trace: Trace, inst: Instruction, value: Value, made: MadeFunction
) -> Value:
    for name in (inst.val,) if isinstance(inst.val, str) else inst.val:
        _attribute(trace, made, name, value)
    return made


def _attribute(trace: Trace, made: MadeFunction, name: str, value: Any) -> None:
    if name == "defaults":
        made.default_values = list(abstract.unpack(trace, value))
    elif name == "kwdefaults":
        made.kwdefaults = {
            abstract.constant_value(trace, k): v for k, v in abstract.dict_pairs(trace, value)
        }
    elif name == "closure":
        made.closure = list(abstract.unpack(trace, value))
    elif name == "annotate":
        made.annotate = value
    else:
        made.annotations = frame_annotations(trace, value)


def none() -> Constant:
    return Constant(None)
