"""Values that a function passes on without looking at them."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from .canonical import CANONICAL
from .instructions import Instruction


class Use(enum.Enum):
    """What becomes of a value on the stack.

    RETURNED  it is returned, by itself or as a part of tuples, lists and dicts that are made on
              the way
    PASSED    it is an argument of a call, by itself or as a part of what a call unpacks
    LOOKED_AT anything else, as far as is known: only what comes in a straight line is followed
    """

    RETURNED = "returned"
    PASSED = "passed"
    LOOKED_AT = "looked at"


def use_of(instructions: Sequence[Instruction], index: int) -> Use:
    """The only use of the value that ``index`` pushes."""
    above = 0  # how many values are above it, or above the container that holds it
    inside = False  # whether a container holds it
    for inst in instructions[index + 1 :]:
        if inst.op == "RETURN_VALUE":
            return Use.LOOKED_AT if above else Use.RETURNED
        if inst.target is not None or (inst.op == "COPY" and inst.val == above + 1):
            return Use.LOOKED_AT
        pops, pushes = CANONICAL[inst.op].counts(inst)
        if pops <= above:
            above += pushes - pops
        elif _is_kept(inst, above):
            above, inside = 0, True
        else:
            return Use.PASSED if _is_argument(inst, above, inside) else Use.LOOKED_AT
    return Use.LOOKED_AT


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


def _is_argument(inst: Instruction, above: int, inside: bool) -> bool:
    """Whether an instruction calls something with the value, which is in a container if `inside`:
    in the one that the call unpacks."""
    if inst.op == "CALL":
        return not inside and above < inst.arg
    return inst.op == "CALL_FUNCTION_EX" and inside and above <= bool(inst.val)
