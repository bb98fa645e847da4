"""What follows a break in a generator and has nothing for a graph: its own frame runs it."""

from __future__ import annotations

from suture.bytecode import Instruction
from suture.compiler.core import Frame

# They move values between the stack and the variables: CPython runs no code of the program for
# them but what the end of an object runs, and there is nothing to capture.
_MOVES = frozenset(
    ("POP_TOP", "COPY", "SWAP", "LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK", "STORE_FAST",
     "LOAD_DEREF", "BUILD_TUPLE")
)  # fmt: skip
_ENDS = frozenset(("YIELD_VALUE", "RETURN_VALUE"))


def tail(frame: Frame, index: int) -> Instruction | None:
    """The instruction that hands a value out, if from `index` on the frame, a real generator's,
    does nothing else before it. A point there would have a variant that checks guards and leaves
    to the frame; a jump to it leaves to the frame at once."""
    instructions = frame.code.instructions
    if not frame.resumed or index >= len(instructions) or not instructions[index].boundary:
        return None
    while instructions[index].op in _MOVES:
        index += 1
    last = instructions[index]
    return last if last.op in _ENDS else None
