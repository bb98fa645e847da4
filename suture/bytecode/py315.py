"""CPython 3.15: how its instructions become canonical ones."""

from __future__ import annotations

from typing import Any

from . import py312, py313, py314
from .decoder import Rule, Walk, forward, meaning

# Of a callable and the NULL beside it on the stack, which one is deeper.
NULL_FIRST = False

# Which method of a manager `with` looks for first.
EXIT_FIRST = True

# What 3.14 has and 3.15 has not: GET_ITER has an argument for it.
GONE = ("GET_YIELD_FROM_ITER",)

# The argument of GET_ITER for what it is in a `for`; others are for `yield from`.
FOR_LOOP = 0

# The argument of LOAD_COMMON_CONSTANT: builtins as in 3.14, and two more; then constants.
COMMON_BUILTINS: tuple[Any, ...] = (*py314.COMMON_CONSTANTS, list, set)
COMMON_CONSTANTS: tuple[Any, ...] = (None, "", True, False, -1)


def load_common_constant(walk: Walk, arg: int) -> None:
    """A builtin that the interpreter knows, or a constant that many programs have."""
    if arg < len(py314.COMMON_CONSTANTS):
        py314.load_common_constant(walk, arg)
    elif arg < len(COMMON_BUILTINS):
        walk.emit("LOAD_BUILTIN", arg, COMMON_BUILTINS[arg])
    else:
        walk.emit("LOAD_CONST", arg, COMMON_CONSTANTS[arg - len(COMMON_BUILTINS)])


def import_name(walk: Walk, arg: int) -> None:
    """The two lowest bits say whether the module is loaded when its name is first used, which is
    never so inside a function."""
    walk.emit("IMPORT_NAME", arg, walk.names[arg >> 2])


def get_iter(walk: Walk, arg: int) -> None:
    """An iterator has two slots: itself and NULL. (The interpreter may keep a list and the index of
    the next item in them. A frame that is entered may have the iterator all the same.)"""
    walk.emit("GET_ITER" if arg == FOR_LOOP else "GET_YIELD_FROM_ITER", arg, arg)
    walk.emit("PUSH_NULL", 0)


def pop_iter(walk: Walk, arg: int) -> None:
    """Both slots."""
    walk.emit("POP_TOP", 0)
    walk.emit("POP_TOP", 0)


def wide_jump(op: str, skip: int) -> Rule:
    """Jump ahead, with an iterator of two slots on the stack: val 1."""
    jump = forward(op, skip)

    def rule(walk: Walk, arg: int) -> None:
        jump(walk, arg)
        walk.instructions[-1].val = 1

    return rule


RULES: dict[str, Rule] = {
    **{op: rule for op, rule in py314.RULES.items() if op not in GONE},
    "LOAD_COMMON_CONSTANT": load_common_constant,
    "IMPORT_NAME": import_name,
    "GET_ITER": get_iter,
    "POP_ITER": pop_iter,
    "FOR_ITER": wide_jump("FOR_ITER", py313.BEHIND_LOOP),
    "SEND": wide_jump("SEND", py312.BEHIND_SEND),
    "END_SEND": meaning("END_SEND", lambda arg: 1),
    "CLEANUP_THROW": meaning("CLEANUP_THROW", lambda arg: 1),
}
