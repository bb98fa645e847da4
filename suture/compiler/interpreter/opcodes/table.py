"""The table of instruction handlers.

A handler peeks: the loop hands it the inputs that `bytecode.CANONICAL` declares, and pops them
only when the handler has come back. So a handler that raises has changed nothing on the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.bytecode import CANONICAL


class Handler:
    """One instruction: its function, how many inputs, and how Python runs it at a break.

    run: name of the operation in `hook.operations` that does the same to real values; None for
    instructions that never break.
    """

    __slots__ = ("fn", "name", "pops", "raw", "run")

    def __init__(self, name: str, fn: Callable[..., Any], raw: bool, run: str | None) -> None:
        self.name = name
        self.fn = fn
        self.pops = CANONICAL[name].pops
        self.raw = raw
        self.run = run


HANDLERS: dict[str, Handler] = {}


def op(name: str, *, raw: bool = False, run: str | None = None) -> Callable[[Any], Any]:
    """Handle instruction `name`. A raw handler gets (tx, frame, inst) and moves the stack and the
    instruction pointer itself; a plain one gets (tx, inst, *inputs) and returns what to push."""
    if name not in CANONICAL:
        raise KeyError(f"{name} is no canonical instruction")
    if name in HANDLERS:
        raise KeyError(f"{name} is handled already")

    def register(fn: Any) -> Any:
        HANDLERS[name] = Handler(name, fn, raw, run)
        return fn

    return register
