"""Values that a function hands out without looking at them."""

from __future__ import annotations

from collections.abc import Sequence

from .canonical import CANONICAL
from .instructions import Instruction


def is_handed_out(instructions: Sequence[Instruction], index: int) -> bool:
    """Whether the value that ``index`` pushes is returned, by itself or as a part of tuples, lists
    and dicts that are made on the way, and nothing else is done with it. Only what comes in a
    straight line is followed: False where the way on branches first."""
    above = 0  # how many values are above it, or above the container that holds it
    for inst in instructions[index + 1 :]:
        if inst.op == "RETURN_VALUE":
            return above == 0
        if inst.target is not None or (inst.op == "COPY" and inst.val == above + 1):
            return False
        pops, pushes = CANONICAL[inst.op].counts(inst)
        if pops <= above:
            above += pushes - pops
        elif _is_kept(inst, above):
            above = 0
        else:
            return False
    return False


def _is_kept(inst: Instruction, above: int) -> bool:
    """Whether an instruction puts the value with so many others above it into a container, where
    nobody asks for its hash."""
    match inst.op:
        case "BUILD_TUPLE" | "BUILD_LIST":
            return True
        case "BUILD_MAP":
            return above % 2 == 0
        case "BUILD_CONST_KEY_MAP":
            return above > 0
    return False
