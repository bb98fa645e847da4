"""Liveness: which slots of a frame are needed to go on at an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .canonical import CANONICAL
from .flow import successors
from .instructions import Instruction

if TYPE_CHECKING:
    from .code import Code

# Instructions that look at a slot. Deleting is looking: it raises where the slot is unbound.
READS = frozenset(
    (
        "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "LOAD_CLOSURE",
        "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF",
    )
)  # fmt: skip

# Instructions behind which the slot's old content does not matter.
WRITES = frozenset(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"))

# A function that mentions one of these may look at any of its own locals.
LOOKS_AT_LOCALS = frozenset(
    ("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "breakpoint",
     "set_trace")
)  # fmt: skip


def live_slots(code: Code) -> list[int]:
    """For each instruction the set of slots live on its entry, as a bit mask."""
    instructions = code.instructions
    always, prefix = _always_live(code)
    arguments = (1 << argument_count(code)) - 1
    frees = sum(1 << slot for slot in code.frees)
    gen, keep = _transfer(instructions, arguments, frees)
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


def argument_count(code: Code) -> int:
    """How many slots hold arguments when the function starts."""
    raw = code.code
    flags = raw.co_flags
    return raw.co_argcount + raw.co_kwonlyargcount + bool(flags & 4) + bool(flags & 8)


def _flow(inst: Instruction) -> tuple[tuple[int, ...], int | None]:
    handler = inst.handler
    raises = handler is not None and CANONICAL[inst.op].raises
    return tuple(successors(inst)), handler.target if raises and handler is not None else None


def _transfer(
    instructions: Sequence[Instruction], arguments: int, frees: int
) -> tuple[list[int], list[int]]:
    """What each instruction makes live, and what it leaves live of what is live behind it."""
    gen = [0] * len(instructions)
    keep = [-1] * len(instructions)
    for index, inst in enumerate(instructions):
        op = inst.op
        if op in READS:
            gen[index] = 1 << inst.val
        if op in WRITES:
            keep[index] = ~(1 << inst.val)
        elif op == "COPY_FREE_VARS":
            keep[index] = ~frees
        elif op == "MAKE_CELL":
            slot = 1 << inst.val
            keep[index] = ~slot
            gen[index] = slot & arguments
    return gen, keep


def _always_live(code: Code) -> tuple[int, int]:
    """The slots live everywhere behind the function's prefix, and where the prefix ends.

    Cells and free variables that are mentioned at all: other functions share them. The first
    argument and ``__class__`` where ``super()`` is called: it finds them in the frame. Everything
    where the function may look at its own locals.
    """
    prefix = 0
    cells = set(code.frees)
    for inst in code.instructions:
        if inst.op not in ("COPY_FREE_VARS", "MAKE_CELL"):
            break
        prefix += 1
        if inst.op == "MAKE_CELL":
            cells.add(inst.val)
    names = code.code.co_names
    if not LOOKS_AT_LOCALS.isdisjoint(names):
        return (1 << len(code.localsplus)) - 1, prefix
    mask = 0
    for inst in code.instructions:
        if inst.op in READS and inst.val in cells:
            mask |= 1 << inst.val
    if "super" in names and "__class__" in code.code.co_freevars:
        mask |= 1 | 1 << code.localsplus.index("__class__")
    return mask, prefix
