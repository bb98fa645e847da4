"""Builtins that look at the frame they are called from: locals(), dir(), globals(), eval()."""

from __future__ import annotations

import builtins
import types
from typing import Any

from suture.breaks import Break, calls, python
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Dict, List
from suture.compiler.outside.namespaces import frame_cell, load_cell


def frame_locals(trace: Trace) -> dict[str, Any]:
    """The variables of the innermost frame by name, those that have a value."""
    frame = trace.frames[-1]
    found: dict[str, Any] = {}
    for slot, name in enumerate(frame.code.localsplus):
        value = frame.locals[slot]
        if slot in frame.code.cells or slot in frame.code.frees:
            value = load_cell(trace, frame_cell(trace, frame, slot))
        value = abstract.realize_local(trace, value)
        if value is not None and not name.startswith("."):
            found[name] = value
    return found


@handles(locals)
def _locals(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if args or kwargs:
        raise Break(calls.C_FUNCTION, function="locals")
    return Dict({name: (Constant(name), value) for name, value in frame_locals(trace).items()})


@handles(dir)
def _dir(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args:
        return List([Constant(name) for name in sorted(frame_locals(trace))])
    raise Break(calls.C_FUNCTION, function="dir")


@handles(globals)
def _globals(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    namespace = trace.frames[-1].fn.globals
    return abstract.wrap(
        trace,
        namespace,
        abstract.pinned(trace, namespace, str(namespace.get("__name__", "globals"))),
    )


@handles(exec, eval)
def _exec(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    for builtin in (eval, exec):
        _refuse_names_of_frame(trace, builtin, args, kwargs)
    raise Break(python.EXEC_EVAL, call="eval or exec")


@handles(compile)
def _compile(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(python.EXEC_EVAL, call="compile")


def _refuse_names_of_frame(
    trace: Trace, builtin: Any, args: list[Value], kwargs: dict[str, Value]
) -> None:
    """Without namespaces the text sees the variables of the frame, which only the frame has."""
    if not args or kwargs:
        return
    if len(args) > 1 and not (args[1].is_constant() and args[1].constant() is None):
        return
    text = args[0].constant() if args[0].is_constant() else None
    names = _names_in(text) if isinstance(text, str) else None
    seen = frame_locals(trace).keys() | trace.frames[-1].fn.globals.keys()
    if names is None or not names.isdisjoint(seen) or not names <= vars(builtins).keys():
        raise Break(python.LOCALS_CALL, call=builtin.__name__)


def _names_in(text: str) -> set[str] | None:
    """The names that an expression uses; None if it is none, or makes functions."""
    try:
        code = compile(text, "<text>", "eval")
    except SyntaxError:
        return None
    inner = any(isinstance(c, types.CodeType) for c in code.co_consts)
    return None if inner else set(code.co_names)
