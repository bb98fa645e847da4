"""One canonical instruction, what it does to the stack, and where its exceptions go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Handler:
    """Where an exception goes: the stack is cut to ``depth``, then the instruction's offset is
    pushed if ``lasti``, then the exception, and execution continues at ``target`` (an index)."""

    __slots__ = ("depth", "lasti", "target")

    def __init__(self, target: int, depth: int, lasti: bool) -> None:
        self.target = target
        self.depth = depth
        self.lasti = lasti

    def __repr__(self) -> str:
        return f"Handler(target={self.target}, depth={self.depth}, lasti={self.lasti})"


class Instruction:
    """One canonical instruction. Never changed once ``decode`` has returned it.

    op           canonical name, a key of ``CANONICAL``
    arg          the argument as it is in the bytecode (0 where there is none)
    val          what the argument means; ``CANONICAL`` says what that is for each instruction
    index        its place in ``Code.instructions``
    offset       byte offset at which a frame is entered to run it from its beginning, with prefixes
    lasti        byte offset of the opcode itself: ``f_lasti`` where it runs, raises or yields
    next_offset  byte offset at which a frame is entered to continue after it
    target       index of the instruction it may jump to, else None
    handler      where an exception raised by it goes inside this code, else None
    boundary     a frame can be entered at ``offset`` to run this instruction first; False for the
                 second of two made from one original (its ``offset`` is that of the first)
    ends         it is the last (or only) one made from its original: a frame can be entered at
                 ``next_offset`` once it has run
    """

    __slots__ = (
        "arg",
        "boundary",
        "ends",
        "handler",
        "index",
        "lasti",
        "next_offset",
        "offset",
        "op",
        "target",
        "val",
    )

    def __init__(
        self,
        op: str,
        arg: int,
        val: Any,
        index: int,
        offset: int,
        lasti: int,
        next_offset: int,
        target: int | None,
        boundary: bool,
    ) -> None:
        self.op = op
        self.arg = arg
        self.val = val
        self.index = index
        self.offset = offset
        self.lasti = lasti
        self.next_offset = next_offset
        self.target = target
        self.handler: Handler | None = None
        self.boundary = boundary
        self.ends = True

    def __repr__(self) -> str:
        jump = "" if self.target is None else f" -> {self.target}"
        return f"<{self.index} @{self.offset} {self.op} {self.val!r}{jump}>"


Count = int | Callable[[Instruction], int]


def _count(count: Count, inst: Instruction) -> int:
    return count if isinstance(count, int) else count(inst)


class Effect:
    """What an instruction does to the stack and to control flow.

    pops, pushes  numbers, or functions of the instruction
    taken         (pops, pushes) when it jumps, where that differs from falling through
    falls         execution can continue at the next instruction
    jumps         execution can continue at ``target``
    raises        it can raise
    doc           the stack before and after, and what ``val`` is
    """

    __slots__ = ("doc", "falls", "jumps", "pops", "pushes", "raises", "taken")

    def __init__(
        self,
        pops: Count,
        pushes: Count,
        doc: str,
        *,
        taken: tuple[Count, Count] | None = None,
        falls: bool = True,
        jumps: bool = False,
        raises: bool = True,
    ) -> None:
        self.pops = pops
        self.pushes = pushes
        self.doc = doc
        self.taken = taken
        self.falls = falls
        self.jumps = jumps
        self.raises = raises

    def counts(self, inst: Instruction) -> tuple[int, int]:
        """How many values ``inst`` pops and pushes when it falls through."""
        return _count(self.pops, inst), _count(self.pushes, inst)

    def counts_taken(self, inst: Instruction) -> tuple[int, int]:
        """How many values ``inst`` pops and pushes when it jumps."""
        if self.taken is None:
            return self.counts(inst)
        pops, pushes = self.taken
        return _count(pops, inst), _count(pushes, inst)
