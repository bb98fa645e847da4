"""CPython 3.13: how its instructions become canonical ones."""

from __future__ import annotations

from . import py312
from .common import COMPARE, CONVERSIONS, FUNCTION_ATTRIBUTES
from .decoder import Rule, Walk, forward, meaning, plain

# Of a callable and the NULL next to it on the stack, which one is deeper.
NULL_FIRST = False

# Which method of a manager `with` looks for first.
EXIT_FIRST = False

# FOR_ITER jumps after END_FOR and the POP_TOP that follows it.
BEHIND_LOOP = 2

# What 3.12 has and 3.13 has not.
GONE = ("FORMAT_VALUE", "KW_NAMES", "LOAD_CLOSURE")


def load_global(walk: Walk, arg: int) -> None:
    """Bit 0 of the argument: with a NULL above the value."""
    walk.emit("LOAD_GLOBAL", arg, walk.names[arg >> 1])
    if arg & 1:
        walk.emit("PUSH_NULL", 0)


def load_fast(walk: Walk, slot: int) -> None:
    """LOAD_CLOSURE is written as LOAD_FAST of a slot that holds a cell."""
    walk.emit("LOAD_CLOSURE" if slot in walk.shared else "LOAD_FAST", slot, slot)


def load_load(walk: Walk, arg: int) -> None:
    """Two loads, the first one in the high bits."""
    load_fast(walk, arg >> 4)
    load_fast(walk, arg & 15)


def store_load(walk: Walk, arg: int) -> None:
    """A store (high bits), then a load."""
    walk.emit("STORE_FAST", arg >> 4, arg >> 4)
    load_fast(walk, arg & 15)


def store_store(walk: Walk, arg: int) -> None:
    """Two stores; the high bits name the slot of the top of the stack."""
    walk.emit("STORE_FAST", arg >> 4, arg >> 4)
    walk.emit("STORE_FAST", arg & 15, arg & 15)


def call_kw(walk: Walk, arg: int) -> None:
    """The names of the keyword arguments are on the stack: the constant loaded just before."""
    names = walk.absorb()
    if names.op != "LOAD_CONST":
        raise walk.unknown()
    walk.emit("CALL", arg, names.val)


def compare(walk: Walk, arg: int) -> None:
    """Bit 4: the result is a bool."""
    walk.emit("COMPARE_TEST" if arg & 16 else "COMPARE_OP", arg, COMPARE[arg >> 5])


def test(op: str) -> Rule:
    """A branch takes the truth itself: TO_BOOL, which is before it, is a part of it."""
    jump = forward(op)

    def rule(walk: Walk, arg: int) -> None:
        if walk.instructions[-1].op == "TO_BOOL":
            walk.absorb()
        jump(walk, arg)

    return rule


RULES: dict[str, Rule] = {
    **{op: rule for op, rule in py312.RULES.items() if op not in GONE},
    **{op: test(op) for op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")},
    "TO_BOOL": plain("TO_BOOL"),
    "LOAD_GLOBAL": load_global,
    "LOAD_FAST": load_fast,
    "LOAD_FAST_LOAD_FAST": load_load,
    "STORE_FAST_LOAD_FAST": store_load,
    "STORE_FAST_STORE_FAST": store_store,
    "CALL_KW": call_kw,
    "COMPARE_OP": compare,
    "MAKE_FUNCTION": meaning("MAKE_FUNCTION", lambda arg: ()),
    "SET_FUNCTION_ATTRIBUTE": meaning(
        "SET_FUNCTION_ATTRIBUTE", lambda arg: FUNCTION_ATTRIBUTES[arg.bit_length() - 1]
    ),
    "CONVERT_VALUE": meaning("CONVERT_VALUE", CONVERSIONS.__getitem__),
    "FORMAT_SIMPLE": meaning("FORMAT_VALUE", lambda arg: (None, False)),
    "FORMAT_WITH_SPEC": meaning("FORMAT_VALUE", lambda arg: (None, True)),
    "FOR_ITER": forward("FOR_ITER", BEHIND_LOOP),
}
