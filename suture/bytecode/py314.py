"""CPython 3.14: how its instructions become canonical ones."""

from __future__ import annotations

from typing import Any

from . import py313
from .common import BINARY, CONVERSIONS
from .decoder import Rule, Walk, drop, meaning, plain
from .instructions import Instruction

# Of a callable and the NULL next to it on the stack, which one is deeper.
NULL_FIRST = False

# Which method of a manager `with` looks for first.
EXIT_FIRST = True

# What 3.13 has and 3.14 has not.
GONE = (
    "BEFORE_ASYNC_WITH",
    "BEFORE_WITH",
    "BINARY_SUBSCR",
    "BUILD_CONST_KEY_MAP",
    "LOAD_ASSERTION_ERROR",
    "RETURN_CONST",
)

# The argument of LOAD_COMMON_CONSTANT.
COMMON_CONSTANTS: tuple[Any, ...] = (AssertionError, NotImplementedError, tuple, all, any)

# The argument of BINARY_OP that stands for obj[key].
SUBSCRIPT = len(BINARY)

# The argument of LOAD_SPECIAL.
EXIT, AEXIT = 1, 3

# SET_FUNCTION_ATTRIBUTE knows one more bit: the function that computes the annotations.
ANNOTATE = 16

# The rest of the instructions that enter a block, in front of the call of __enter__:
# manager -- exit, self, enter, manager.
ENTERING = (("COPY", 1), ("LOAD_SPECIAL", None), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", None))


def load_small_int(walk: Walk, arg: int) -> None:
    """The argument is the constant."""
    walk.emit("LOAD_CONST", arg, arg)


def load_common_constant(walk: Walk, arg: int) -> None:
    """A builtin that the interpreter knows, whatever its name stands for in the program."""
    found = COMMON_CONSTANTS[arg]
    if found is AssertionError:
        walk.emit("LOAD_ASSERTION_ERROR", arg)
    else:
        walk.emit("LOAD_BUILTIN", arg, found)


def binary_op(walk: Walk, arg: int) -> None:
    """An item is read by a binary operator like the others."""
    if arg == SUBSCRIPT:
        walk.emit("BINARY_SUBSCR", arg)
    else:
        walk.emit("BINARY_OP", arg, BINARY[arg])


def call(walk: Walk, arg: int) -> None:
    """A call; or the last step of entering a block, where all steps are one instruction."""
    recent = walk.instructions[-len(ENTERING) :]
    if arg == 0 and len(recent) == len(ENTERING) and recent[-1].op == "LOAD_SPECIAL":
        _enter_block(walk, recent)
    else:
        walk.emit("CALL", arg, ())


def _enter_block(walk: Walk, steps: list[Instruction]) -> None:
    """The block's exit is a pair on the stack: val 1."""
    for inst, (op, arg) in zip(steps, ENTERING):
        if inst.op != op or arg not in (None, inst.arg):
            raise walk.unknown()
    op = {EXIT: "BEFORE_WITH", AEXIT: "BEFORE_ASYNC_WITH"}[steps[1].arg]
    for _ in steps:
        walk.absorb()
    walk.emit(op, 0, 1)


def call_function_ex(walk: Walk, arg: int) -> None:
    """There is always a slot for the keyword arguments; without them a NULL is pushed for it."""
    if walk.instructions[-1].op == "PUSH_NULL":
        walk.absorb()
        walk.emit("CALL_FUNCTION_EX", arg, False)
    else:
        walk.emit("CALL_FUNCTION_EX", arg, True)


def function_attribute(walk: Walk, arg: int) -> None:
    """As in 3.13, and the function that computes annotations."""
    if arg == ANNOTATE:
        walk.emit("SET_FUNCTION_ATTRIBUTE", arg, "annotate")
    else:
        py313.RULES["SET_FUNCTION_ATTRIBUTE"](walk, arg)


def build_interpolation(walk: Walk, arg: int) -> None:
    """Bit 0: with a format specification; from bit 2 on, the conversion."""
    walk.emit("BUILD_INTERPOLATION", arg, (CONVERSIONS[arg >> 2], bool(arg & 1)))


RULES: dict[str, Rule] = {
    **{op: rule for op, rule in py313.RULES.items() if op not in GONE},
    "NOT_TAKEN": drop,
    "POP_ITER": plain("POP_TOP"),
    "LOAD_SMALL_INT": load_small_int,
    "LOAD_COMMON_CONSTANT": load_common_constant,
    # Borrowing or not is the interpreter's business: a frame that is entered owns all it has.
    "LOAD_FAST_BORROW": py313.load_fast,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": py313.load_load,
    "LOAD_SPECIAL": plain("LOAD_SPECIAL"),
    "BINARY_OP": binary_op,
    "CALL": call,
    "CALL_FUNCTION_EX": call_function_ex,
    "WITH_EXCEPT_START": meaning("WITH_EXCEPT_START", lambda arg: 1),
    "SET_FUNCTION_ATTRIBUTE": function_attribute,
    "BUILD_INTERPOLATION": build_interpolation,
    "BUILD_TEMPLATE": plain("BUILD_TEMPLATE"),
}
