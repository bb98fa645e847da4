"""Constants, locals, cells, globals, the stack itself."""

from __future__ import annotations

import types
from typing import Any

from suture.tracer.opcodes.table import op
from suture.variables import NULL, Cell, Constant, Lazy


@op("COPY_FREE_VARS", raw=True)
def copy_free_vars(tx: Any, frame: Any, inst: Any) -> None:
    for i, slot in enumerate(frame.code.frees):
        frame.locals[slot] = frame.fn.cell(tx, i)
    frame.ip += 1


@op("MAKE_CELL", raw=True)
def make_cell(tx: Any, frame: Any, inst: Any) -> None:
    held = frame.locals[inst.val]
    frame.locals[inst.val] = Cell(held)
    frame.ip += 1


@op("POP_TOP")
def pop_top(tx: Any, inst: Any, value: Any) -> None:
    return None


@op("PUSH_NULL")
def push_null(tx: Any, inst: Any) -> Any:
    return NULL


@op("COPY", raw=True)
def copy(tx: Any, frame: Any, inst: Any) -> None:
    frame.stack.append(frame.stack[-inst.val])
    frame.ip += 1


@op("SWAP", raw=True)
def swap(tx: Any, frame: Any, inst: Any) -> None:
    stack = frame.stack
    stack[-1], stack[-inst.val] = stack[-inst.val], stack[-1]
    frame.ip += 1


@op("LOAD_CONST")
def load_const(tx: Any, inst: Any) -> Any:
    return tx.wrap_code_constant(inst.val)


@op("LOAD_ASSERTION_ERROR")
def load_assertion_error(tx: Any, inst: Any) -> Any:
    return tx.wrap(AssertionError, None)


@op("LOAD_BUILTIN")
def load_builtin(tx: Any, inst: Any) -> Any:
    return tx.wrap(inst.val, None)


@op("LOAD_FAST", raw=True)
def load_fast(tx: Any, frame: Any, inst: Any) -> None:
    value = frame.locals[inst.val]
    if type(value) is Lazy:
        value = frame.locals[inst.val] = tx.realize(value)
    if value is None:
        name = frame.code.localsplus[inst.val]
        tx.raise_(
            UnboundLocalError,
            f"cannot access local variable '{name}' where it is not associated with a value",
        )
    frame.stack.append(value)
    frame.ip += 1


op("LOAD_FAST_CHECK", raw=True)(load_fast)


@op("LOAD_FAST_AND_CLEAR", raw=True)
def load_fast_and_clear(tx: Any, frame: Any, inst: Any) -> None:
    value = frame.locals[inst.val]
    if type(value) is Lazy:
        value = tx.realize(value)
    frame.stack.append(NULL if value is None else value)
    frame.locals[inst.val] = None
    frame.ip += 1


@op("STORE_FAST", raw=True)
def store_fast(tx: Any, frame: Any, inst: Any) -> None:
    value = frame.stack.pop()
    frame.locals[inst.val] = None if value is NULL else value
    frame.ip += 1


@op("DELETE_FAST", raw=True)
def delete_fast(tx: Any, frame: Any, inst: Any) -> None:
    value = frame.locals[inst.val]
    if type(value) is Lazy:
        value = tx.realize(value)
    if value is None:
        name = frame.code.localsplus[inst.val]
        tx.raise_(
            UnboundLocalError,
            f"cannot access local variable '{name}' where it is not associated with a value",
        )
    frame.locals[inst.val] = None
    frame.ip += 1


@op("LOAD_CLOSURE", raw=True)
def load_closure(tx: Any, frame: Any, inst: Any) -> None:
    """The cell; or the value, while a comprehension that needs no cell uses the slot."""
    held = frame.locals[inst.val]
    is_cell = isinstance(held.value if type(held) is Lazy else held, (Cell, types.CellType))
    frame.stack.append(tx.frame_cell(frame, inst.val) if is_cell else tx.realize(held))
    frame.ip += 1


@op("LOAD_DEREF", raw=True)
def load_deref(tx: Any, frame: Any, inst: Any) -> None:
    value = tx.load_cell(tx.frame_cell(frame, inst.val))
    if value is None:
        _unbound_cell(tx, frame, inst.val)
    frame.stack.append(value)
    frame.ip += 1


def _unbound_cell(tx: Any, frame: Any, slot: int) -> None:
    name = frame.code.localsplus[slot]
    if slot in frame.code.frees:
        tx.raise_(
            NameError,
            f"cannot access free variable '{name}' where it is not associated with a value in"
            " enclosing scope",
        )
    tx.raise_(
        UnboundLocalError,
        f"cannot access local variable '{name}' where it is not associated with a value",
    )


@op("STORE_DEREF", raw=True)
def store_deref(tx: Any, frame: Any, inst: Any) -> None:
    cell = tx.frame_cell(frame, inst.val)
    cell.touch(tx)
    cell.contents = frame.stack.pop()
    frame.ip += 1


@op("DELETE_DEREF", raw=True)
def delete_deref(tx: Any, frame: Any, inst: Any) -> None:
    cell = tx.frame_cell(frame, inst.val)
    if tx.load_cell(cell) is None:
        _unbound_cell(tx, frame, inst.val)
    cell.touch(tx)
    cell.contents = None
    frame.ip += 1


@op("LOAD_GLOBAL", raw=True)
def load_global(tx: Any, frame: Any, inst: Any) -> None:
    frame.stack.append(tx.load_global(frame.fn.globals, inst.val))
    frame.ip += 1


@op("STORE_GLOBAL", raw=True)
def store_global(tx: Any, frame: Any, inst: Any) -> None:
    tx.store_global(frame.fn.globals, inst.val, frame.stack.pop())
    frame.ip += 1


@op("DELETE_GLOBAL", raw=True)
def delete_global(tx: Any, frame: Any, inst: Any) -> None:
    tx.load_global(frame.fn.globals, inst.val)
    tx.store_global(frame.fn.globals, inst.val, None)
    frame.ip += 1


@op("IMPORT_NAME", run="import_name")
def import_name(tx: Any, inst: Any, level: Any, fromlist: Any) -> Any:
    return tx.import_name(inst.val, tx.constant_value(fromlist), tx.constant_value(level))


@op("IMPORT_FROM", raw=True, run="import_from")
def import_from(tx: Any, frame: Any, inst: Any) -> None:
    module = frame.stack[-1]
    frame.stack.append(tx.import_from(module, inst.val))
    frame.ip += 1


@op("LOAD_BUILD_CLASS")
def load_build_class(tx: Any, inst: Any) -> Any:
    import builtins

    return tx.wrap(builtins.__build_class__, None)


def constant(value: Any) -> Constant:
    return Constant(value)
