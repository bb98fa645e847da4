"""Constants, locals, cells, globals, the stack itself."""

from __future__ import annotations

import types
from typing import Any

from suture._core import UNBOUND
from suture.bytecode import Instruction, Use
from suture.compiler import abstract
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.objects import NULL, Cell, Constant, Lazy
from suture.compiler.outside import namespaces
from suture.compiler.outside.namespaces import frame_cell, load_cell
from suture.compiler.outside.wrapping import wrap_code_constant


@op("COPY_FREE_VARS", raw=True)
def copy_free_vars(trace: Trace, frame: Frame, inst: Instruction) -> None:
    for i, slot in enumerate(frame.code.frees):
        frame.locals[slot] = frame.fn.cell(trace, i)
    frame.ip += 1


@op("MAKE_CELL", raw=True)
def make_cell(trace: Trace, frame: Frame, inst: Instruction) -> None:
    held = frame.locals[inst.val]
    frame.locals[inst.val] = Cell(held)
    frame.ip += 1


@op("POP_TOP")
def pop_top(trace: Trace, inst: Instruction, value: Value) -> None:
    return None


@op("PUSH_NULL")
def push_null(trace: Trace, inst: Instruction) -> Value:
    return NULL


@op("COPY", raw=True)
def copy(trace: Trace, frame: Frame, inst: Instruction) -> None:
    frame.stack.append(frame.stack[-inst.val])
    frame.ip += 1


@op("SWAP", raw=True)
def swap(trace: Trace, frame: Frame, inst: Instruction) -> None:
    stack = frame.stack
    stack[-1], stack[-inst.val] = stack[-inst.val], stack[-1]
    frame.ip += 1


@op("LOAD_CONST")
def load_const(trace: Trace, inst: Instruction) -> Value:
    return wrap_code_constant(trace, inst.val)


@op("LOAD_ASSERTION_ERROR")
def load_assertion_error(trace: Trace, inst: Instruction) -> Value:
    return abstract.wrap(trace, AssertionError, None)


@op("LOAD_BUILTIN")
def load_builtin(trace: Trace, inst: Instruction) -> Value:
    return abstract.wrap(trace, inst.val, None)


def _raise_unbound(trace: Trace, frame: Frame, inst: Instruction) -> None:
    name = frame.code.localsplus[inst.val]
    text = f"cannot access local variable '{name}' where it is not associated with a value"
    abstract.raise_(trace, UnboundLocalError, text)


@op("LOAD_FAST", raw=True)
def load_fast(trace: Trace, frame: Frame, inst: Instruction) -> None:
    value = frame.locals[inst.val]
    if type(value) is Lazy and not _is_passed_on(trace, frame, inst, value):
        value = frame.locals[inst.val] = abstract.realize_local(trace, value)
    if value is None:
        _raise_unbound(trace, frame, inst)
    frame.stack.append(value)
    frame.ip += 1


op("LOAD_FAST_CHECK", raw=True)(load_fast)


def _is_passed_on(trace: Trace, frame: Frame, inst: Instruction, value: Lazy) -> bool:
    """Whether a value that nobody has looked at is only passed to a call, or handed out, so that
    nothing needs to know what it is: the variant hands out whatever is there."""
    if value.seen is not None or value.value is UNBOUND:
        return False
    use = frame.code.use(inst.index)
    return use is Use.PASSED or (use is Use.RETURNED and _returns_to_outside(trace))


def _returns_to_outside(trace: Trace) -> bool:
    """Whether what the innermost frame returns is returned by all its callers."""
    if trace.progress.base_depth:
        return False
    *outer, last = trace.frames
    plain = all(f.generator is None and f.deliver is None for f in (*outer[1:], last))
    return plain and all(f.code.use(f.ip - 1) is Use.RETURNED for f in outer)


@op("LOAD_FAST_AND_CLEAR", raw=True)
def load_fast_and_clear(trace: Trace, frame: Frame, inst: Instruction) -> None:
    value = frame.locals[inst.val]
    if type(value) is Lazy:
        value = abstract.realize_local(trace, value)
    frame.stack.append(NULL if value is None else value)
    frame.locals[inst.val] = None
    frame.ip += 1


@op("STORE_FAST", raw=True)
def store_fast(trace: Trace, frame: Frame, inst: Instruction) -> None:
    value = frame.stack.pop()
    frame.locals[inst.val] = None if value is NULL else value
    frame.ip += 1


@op("DELETE_FAST", raw=True)
def delete_fast(trace: Trace, frame: Frame, inst: Instruction) -> None:
    value = frame.locals[inst.val]
    if type(value) is Lazy:
        value = abstract.realize_local(trace, value)
    if value is None:
        _raise_unbound(trace, frame, inst)
    frame.locals[inst.val] = None
    frame.ip += 1


@op("LOAD_CLOSURE", raw=True)
def load_closure(trace: Trace, frame: Frame, inst: Instruction) -> None:
    """The cell; or the value, while a comprehension that needs no cell uses the slot."""
    held = frame.locals[inst.val]
    is_cell = isinstance(held.value if type(held) is Lazy else held, (Cell, types.CellType))
    frame.stack.append(
        frame_cell(trace, frame, inst.val) if is_cell else abstract.realize(trace, held)
    )
    frame.ip += 1


@op("LOAD_DEREF", raw=True)
def load_deref(trace: Trace, frame: Frame, inst: Instruction) -> None:
    value = load_cell(trace, frame_cell(trace, frame, inst.val))
    if value is None:
        _unbound_cell(trace, frame, inst.val)
    frame.stack.append(value)
    frame.ip += 1


def _unbound_cell(trace: Trace, frame: Frame, slot: int) -> None:
    name = frame.code.localsplus[slot]
    if slot in frame.code.frees:
        abstract.raise_(
            trace,
            NameError,
            f"cannot access free variable '{name}' where it is not associated with a value in"
            " enclosing scope",
        )
    abstract.raise_(
        trace,
        UnboundLocalError,
        f"cannot access local variable '{name}' where it is not associated with a value",
    )


@op("STORE_DEREF", raw=True)
def store_deref(trace: Trace, frame: Frame, inst: Instruction) -> None:
    cell = frame_cell(trace, frame, inst.val)
    cell.touch(trace)
    cell.contents = frame.stack.pop()
    frame.ip += 1


@op("DELETE_DEREF", raw=True)
def delete_deref(trace: Trace, frame: Frame, inst: Instruction) -> None:
    cell = frame_cell(trace, frame, inst.val)
    if load_cell(trace, cell) is None:
        _unbound_cell(trace, frame, inst.val)
    cell.touch(trace)
    cell.contents = None
    frame.ip += 1


@op("LOAD_GLOBAL", raw=True)
def load_global(trace: Trace, frame: Frame, inst: Instruction) -> None:
    frame.stack.append(namespaces.load_global(trace, frame.fn.globals, inst.val))
    frame.ip += 1


@op("STORE_GLOBAL", raw=True)
def store_global(trace: Trace, frame: Frame, inst: Instruction) -> None:
    namespaces.store_global(trace, frame.fn.globals, inst.val, frame.stack.pop())
    frame.ip += 1


@op("DELETE_GLOBAL", raw=True)
def delete_global(trace: Trace, frame: Frame, inst: Instruction) -> None:
    namespaces.load_global(trace, frame.fn.globals, inst.val)
    namespaces.store_global(trace, frame.fn.globals, inst.val, None)
    frame.ip += 1


@op("IMPORT_NAME", run="import_name")
def import_name(trace: Trace, inst: Instruction, level: Value, fromlist: Any) -> Value:
    return namespaces.import_name(
        trace,
        inst.val,
        abstract.constant_value(trace, fromlist),
        abstract.constant_value(trace, level),
    )


@op("IMPORT_FROM", raw=True, run="import_from")
def import_from(trace: Trace, frame: Frame, inst: Instruction) -> None:
    module = frame.stack[-1]
    frame.stack.append(namespaces.import_from(trace, module, inst.val))
    frame.ip += 1


@op("LOAD_BUILD_CLASS")
def load_build_class(trace: Trace, inst: Instruction) -> Value:
    import builtins

    return abstract.wrap(trace, builtins.__build_class__, None)


def constant(value: object) -> Constant:
    return Constant(value)
