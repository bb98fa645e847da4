"""Whether a function that is traced now and called later would read the same then.

A hook is traced where it is set, and the engine calls it when the backward pass gets there. In
between the program may change whatever it can reach. So nothing that the hook gets hold of, besides
what it is given, may be able to change: no object of the program, no variable that is set again, no
global that is a number, since a global can be set from anywhere. Functions, classes and modules are
taken to stay under their names, as they are where code is inlined.
"""

from __future__ import annotations

import builtins
import types
from typing import Any

import torch

from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.objects import Builtin, Constant, Function, MadeFunction, Symbol, Tensor, Tuple
from suture.compiler.objects.cell import Cell
from suture.compiler.objects.lookup import MISSING
from suture.compiler.outside.code_reads import cell_contents, names_of, reads
from suture.compiler.torch.subclasses import PLAIN
from suture.runtime.predicates import is_literal

_OF_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_WRITES = ("STORE_DEREF", "DELETE_DEREF")
# What a tensor says of itself, and the engine or the program changes.
_CHANGING = frozenset({"_version", "data", "grad", "grad_fn", "is_leaf", "requires_grad"})
_LOOKS_AROUND = frozenset({"eval", "exec", "globals", "locals", "vars", "__import__"})


def reads_what_lasts(trace: Trace, fn: Value) -> bool:
    """Whether all that a function gets hold of, besides its arguments, stays what it is."""
    if isinstance(fn, Builtin):
        return _is_of_torch(fn.value)
    if isinstance(fn, Function):
        return _function_lasts(fn.fn, set())
    if not isinstance(fn, MadeFunction) or not _code_lasts(fn.code, fn.globals, set()):
        return False
    given = [*fn.default_values, *fn.kwdefaults.values()]
    return all(_value_lasts(trace, v) for v in given) and all(
        _variable_lasts(trace, name, cell) for name, cell in zip(fn.code.co_freevars, fn.closure)
    )


def _value_lasts(trace: Trace, value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.cls in PLAIN
    if isinstance(value, Constant):
        return is_literal(value.constant())
    if isinstance(value, Tuple):
        return all(_value_lasts(trace, abstract.realize(trace, item)) for item in value.items)
    return isinstance(value, Symbol) or (
        isinstance(value, (Builtin, Function, MadeFunction)) and reads_what_lasts(trace, value)
    )


def _variable_lasts(trace: Trace, name: str, cell: Value) -> bool:
    """Whether a variable that a function shares with the one around it has its last value."""
    if not isinstance(cell, Cell) or cell.contents is None:
        return False
    owner = next((f for f in trace.frames if any(held is cell for held in f.locals)), None)
    if owner is None or _is_set_later(owner, name):
        return False
    return _value_lasts(trace, abstract.realize(trace, cell.contents))


def _is_set_later(owner: Frame, name: str) -> bool:
    """Whether a frame, or a function inside of it, may still set a variable."""
    code = owner.code
    for inst in code.instructions:
        if inst.op in _WRITES and code.localsplus[inst.val] == name:
            if inst.index > owner.ip or code.in_loop(inst.index):
                return True
    return any(_is_set_inside(inner, name) for inner in _inner(code.code))


def _is_set_inside(code: types.CodeType, name: str) -> bool:
    if name not in code.co_freevars:
        return False
    decoded = decode(code)
    writes = (i for i in decoded.instructions if i.op in _WRITES)
    return any(decoded.localsplus[i.val] == name for i in writes) or any(
        _is_set_inside(inner, name) for inner in _inner(code)
    )


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


# ---- real functions


def _function_lasts(fn: types.FunctionType, seen: set[int]) -> bool:
    """The same of a function that exists, and of those that it names."""
    if id(fn) in seen or _is_of_torch(fn):
        return True
    seen.add(id(fn))
    given = [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
    held = [cell_contents(cell) for cell in fn.__closure__ or ()]
    return (
        all(map(is_literal, given))
        and all(_object_lasts(value, seen) for value in held)
        and _code_lasts(fn.__code__, fn.__globals__, seen)
    )


def _code_lasts(code: types.CodeType, namespace: dict[str, Any], seen: set[int]) -> bool:
    """Whether the globals that code names last, and it asks tensors for nothing that changes."""
    names = names_of(code)
    taken: set[str] = set()
    for load in names.loads:
        *_, last = reads(namespace, load)
        if last.value is MISSING:
            if last.module is not None or last.name in _LOOKS_AROUND:
                return False
            if getattr(builtins, last.name, MISSING) is MISSING:
                return False
        elif not _object_lasts(last.value, seen):
            return False
        taken.update(load[1:])
    attributes = names.attributes - taken
    if names.imports or attributes & _CHANGING:
        return False
    return all(hasattr(torch.Tensor, name) for name in attributes) and all(
        _code_lasts(inner, namespace, seen) for inner in _inner(code)
    )


def _object_lasts(value: object, seen: set[int]) -> bool:
    if isinstance(value, types.FunctionType):
        return _function_lasts(value, seen)
    return _is_of_torch(value)


def _is_of_torch(value: object) -> bool:
    """Whether an object is a module, a class or a function of torch's or of Python's own in C, and
    no state."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in ("torch", "math", "operator", "builtins")
    if isinstance(value, torch.dtype):
        return True
    if not isinstance(value, (type, types.FunctionType, *_OF_C)):
        return False
    home = getattr(value, "__module__", None) or "builtins"
    return home.partition(".")[0] in ("torch", "math", "operator", "_operator", "builtins")
