"""Whether the program itself handles what an operation raises, or lets it pass."""

from __future__ import annotations

from typing import Any

from suture.bytecode import Instruction
from suture.compiler.core import Frame, Trace

# What a handler consists of that only puts things in order before it raises again.
_IN_ORDER = (
    "PUSH_EXC_INFO", "COPY", "SWAP", "POP_TOP", "POP_EXCEPT", "LOAD_CONST", "STORE_FAST",
    "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL", "DELETE_FAST", "DELETE_DEREF", "DELETE_NAME",
    "DELETE_GLOBAL", "CALL_INTRINSIC_1", "NOP",
)  # fmt: skip


def is_caught(trace: Trace, frame: Frame, inst: Instruction) -> bool:
    """Whether code of the program runs if `inst` of `frame` raises: an `except` or `finally`, or a
    manager that is not torch's, in a frame of the region."""
    if inst.handler is not None and _catches(frame, inst):
        return True
    for outer in trace.frames:
        if outer is frame:
            continue
        at = outer.code.instructions[max(outer.ip - 1, 0)]
        if at.handler is not None and _catches(outer, at):
            return True
    return False


def _catches(frame: Frame, inst: Instruction) -> bool:
    instructions = frame.code.instructions
    while inst.handler is not None:
        depth, at = inst.handler.depth, inst.handler.target
        while instructions[at].op in _IN_ORDER:
            at += 1
        inst = instructions[at]
        held = frame.stack[depth - (2 if inst.val else 1) : depth]  # __exit__, and NULL since 3.14
        if inst.op == "WITH_EXCEPT_START" and any(map(_is_of_torch, held)):
            continue  # what it lets pass goes on where its own call would go
        if inst.op != "RERAISE":
            return True
    return False


def _is_of_torch(leave: Any) -> bool:
    """Whether a bound __exit__ is that of one of torch's managers, which swallow nothing."""
    owner = getattr(leave, "owner", None)
    if owner is not None:
        return str(owner.python_type().__module__).partition(".")[0] == "torch"
    real = getattr(getattr(leave, "value", None), "__self__", None)
    return type(real).__module__.partition(".")[0] == "torch"
