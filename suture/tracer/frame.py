"""One symbolic frame, and the ways a frame's value reaches its caller."""

from __future__ import annotations

import linecache
from typing import Any

from suture.bytecode import Code


class Frame:
    """A function being run symbolically.

    code      the decoded code object
    fn        the function's variable (gives globals, cells, defaults)
    locals    one variable, Lazy or None (unbound) per localsplus slot
    stack     the value stack
    ip        index of the instruction that runs next
    handled   the exception being handled, as this frame sees it
    deliver   None: the caller gets the return value. Else the variable it gets instead
              (an object whose __init__ this frame is)
    generator the Generator variable whose body this frame is, or None
    resumed   the frame is a real generator's, which CPython has resumed
    call      (step, slots) of the instruction that called it, where that is its whole work; the
              slots as they were at the start
    """

    __slots__ = (
        "call", "code", "deliver", "fn", "generator", "handled", "ip", "locals", "resumed",
        "stack",
    )  # fmt: skip

    def __init__(self, code: Code, fn: Any, slots: list[Any], handled: Any) -> None:
        self.code = code
        self.fn = fn
        self.locals = slots
        self.stack: list[Any] = []
        self.ip = code.entry
        self.handled = handled
        self.deliver: Any = None
        self.generator: Any = None
        self.resumed = False
        self.call: tuple[int, tuple[Any, ...]] | None = None

    def line(self) -> int | None:
        return self.code.line(self.ip)

    def __repr__(self) -> str:
        return f"<frame {self.code.code.co_qualname} at {self.ip}>"


class Pending:
    """What a tail call leaves: a frame to run before the instruction has its result."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame


_LINES: dict[tuple[int, int | None], tuple[Any, str]] = {}


def line_text(code: Any, index: int) -> str:
    """One entry of a stack trace, as traceback prints it."""
    number = code.line(index)
    found = _LINES.get((id(code), number))
    if found is None:
        real = code.code
        source = linecache.getline(real.co_filename, number or 0).strip()
        text = f'  File "{real.co_filename}", line {number}, in {real.co_name}\n    {source}\n'
        if len(_LINES) > 4096:
            _LINES.clear()
        found = _LINES[(id(code), number)] = (code, text)
    return found[1]


def loop_slots(code: Any) -> frozenset[int]:
    """The locals that some loop of the function sets."""
    return frozenset(
        inst.val
        for inst in code.instructions
        if inst.op == "STORE_FAST" and code.in_loop(inst.index)
    )
