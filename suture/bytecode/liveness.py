"""Liveness: which slots of a frame are needed to continue at an instruction."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import CodeType

from .canonical import CANONICAL
from .flow import successors
from .instructions import Instruction

# Instructions that look at a slot. Deleting is looking: it raises where the slot is unbound.
READS = frozenset(
    (
        "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "LOAD_CLOSURE",
        "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF",
    )
)  # fmt: skip

# Instructions after which the slot's old content does not matter.
WRITES = frozenset(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"))

# A function that calls one of these builtins, or that gets at frames by one of these functions,
# may look at any of its own locals.
LOCALS_BUILTINS = frozenset(("locals", "vars", "dir", "eval", "exec", "breakpoint"))
FRAME_FUNCTIONS = frozenset(("_getframe", "currentframe", "set_trace"))


def live_slots(
    code: CodeType,
    instructions: Sequence[Instruction],
    localsplus: tuple[str, ...],
    frees: tuple[int, ...],
) -> list[int]:
    """For each instruction the set of slots live on its entry, as a bit mask."""
    always, prefix = _always_live(code, instructions, localsplus, frees)
    arguments = (1 << _argument_count(code)) - 1
    copied = sum(1 << slot for slot in frees)
    gen, keep = _transfer(instructions, arguments, copied)
    live = [0] * len(instructions)
    flows = [_flow(inst) for inst in instructions]
    changed = True
    while changed:
        changed = False
        for index in range(len(instructions) - 1, -1, -1):
            following, handler = flows[index]
            out = 0
            for successor in following:
                out |= live[successor]
            mask = out & keep[index] | gen[index]
            if handler is not None:
                mask |= live[handler]
            if index >= prefix:
                mask |= always
            if mask != live[index]:
                live[index] = mask
                changed = True
    return live


def _argument_count(code: CodeType) -> int:
    """How many slots hold arguments when the function starts."""
    star = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + star


def _flow(inst: Instruction) -> tuple[tuple[int, ...], int | None]:
    handler = inst.handler
    raises = handler is not None and CANONICAL[inst.op].raises
    return tuple(successors(inst)), handler.target if raises and handler is not None else None


def _transfer(
    instructions: Sequence[Instruction], arguments: int, copied: int
) -> tuple[list[int], list[int]]:
    """What each instruction makes live, and what it leaves live of what is live after it."""
    gen = [0] * len(instructions)
    keep = [-1] * len(instructions)
    for index, inst in enumerate(instructions):
        op = inst.op
        if op in READS:
            gen[index] = 1 << inst.val
        if op in WRITES:
            keep[index] = ~(1 << inst.val)
        elif op == "COPY_FREE_VARS":
            keep[index] = ~copied
        elif op == "MAKE_CELL":
            slot = 1 << inst.val
            keep[index] = ~slot
            gen[index] = slot & arguments
    return gen, keep


def _always_live(
    code: CodeType,
    instructions: Sequence[Instruction],
    localsplus: tuple[str, ...],
    frees: tuple[int, ...],
) -> tuple[int, int]:
    """The slots live everywhere after the function's prefix, and where the prefix ends.

    Cells and free variables that are mentioned at all: other functions share them. The first
    argument and ``__class__`` where ``super()`` is called: it finds them in the frame. Everything
    where the function may look at its own locals.
    """
    if _looks_at_locals(code, instructions):
        mask = (1 << len(localsplus)) - 1
    else:
        shared = {inst.val for inst in instructions if inst.op == "MAKE_CELL"}.union(frees)
        mask = 0
        for inst in instructions:
            if inst.op in READS and inst.val in shared:
                mask |= 1 << inst.val
        if "super" in code.co_names and "__class__" in code.co_freevars:
            mask |= 1 | 1 << localsplus.index("__class__")
    prefix = 0
    while instructions[prefix].op in ("COPY_FREE_VARS", "MAKE_CELL"):
        prefix += 1
    return mask, prefix


def _looks_at_locals(code: CodeType, instructions: Sequence[Instruction]) -> bool:
    if not FRAME_FUNCTIONS.isdisjoint(code.co_names):
        return True
    # The name alone does not tell: `model.eval()` is no call of the builtin.
    return not LOCALS_BUILTINS.isdisjoint(code.co_names) and any(
        inst.op in ("LOAD_GLOBAL", "LOAD_NAME") and inst.val in LOCALS_BUILTINS
        for inst in instructions
    )
