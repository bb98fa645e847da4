"""Facts about code: lines as a stack trace shows them, what loops set."""

from __future__ import annotations

import linecache
from typing import Any

from suture.bytecode import Code, Instruction

_LINES: dict[tuple[int, int], tuple[Any, str]] = {}


def line_text(code: Code, index: int) -> str:
    """One entry of a stack trace, as traceback prints it."""
    found = _LINES.get((id(code), index))
    if found is None:
        number, real = code.line(index), code.code
        source = linecache.getline(real.co_filename, number or 0).strip()
        text = f'  File "{real.co_filename}", line {number}, in {real.co_name}\n    {source}\n'
        if len(_LINES) > 4096:
            _LINES.clear()
        found = _LINES[(id(code), index)] = (code, text)
    return found[1]


def loop_slots(code: Code) -> frozenset[int]:
    """The locals that some loop of the function sets."""
    return frozenset(
        inst.val
        for inst in code.instructions
        if inst.op == "STORE_FAST" and code.in_loop(inst.index)
    )


def raises_again(inst: Instruction) -> bool:
    """Whether the instruction raises an exception anew that has passed this frame already."""
    if inst.op == "RAISE_VARARGS":
        return bool(inst.val == 0)
    return inst.op in ("RERAISE", "CLEANUP_THROW")  # the latter of what is no StopIteration
