"""The walk over a code object's bytes, and the rules that the tables of each Python are made of.

A rule is a function of the walk and the argument. It emits canonical instructions for the original
instruction that is at ``walk.lasti``, or none for one that is dropped (an offset that is
dropped stands for the next instruction), or keeps it as a prefix of the one to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from .instructions import Handler, Instruction


class DecodeError(Exception):
    """The bytecode holds something that no compiler of a supported Python makes."""


Rule = Callable[["Walk", int], None]


class Walk:
    """One pass over the bytes of ``code``.

    instructions  what was emitted, in order; ``target`` holds byte offsets until ``resolve``
    starts        byte offset of each original instruction, dropped ones and prefixes included, to
                  the index of the canonical instruction that runs when a frame is entered there
    shared        slots that hold cells
    keywords      names of the keyword arguments of the call to come
    """

    __slots__ = ("code", "consts", "instructions", "keywords", "lasti", "names", "next_offset",
                 "prefixed", "shared", "start", "starts")  # fmt: skip

    def __init__(self, code: CodeType, shared: tuple[int, ...]) -> None:
        self.code = code
        self.shared = shared
        self.consts = code.co_consts
        self.names = code.co_names
        self.instructions: list[Instruction] = []
        self.starts: dict[int, int] = {}
        self.keywords: tuple[str, ...] = ()
        self.start = self.lasti = self.next_offset = 0
        self.prefixed = False

    def run(self, rules: list[Rule | None], extended_arg: int) -> None:
        """Apply the rule of each instruction. Entries of the inline cache are opcode 0."""
        data = self.code.co_code
        starts, instructions = self.starts, self.instructions
        size, offset, high = len(data), 0, 0
        while offset < size:
            opcode = data[offset]
            if not (self.prefixed or high):
                self.start = offset
            starts[offset] = len(instructions)
            if opcode == extended_arg:
                high = (high | data[offset + 1]) << 8
                offset += 2
                continue
            self.lasti = offset
            arg = high | data[offset + 1]
            high = 0
            offset += 2
            while offset < size and not data[offset]:
                offset += 2
            self.next_offset = offset
            self.prefixed = False
            rule = rules[opcode]
            if rule is None:
                raise self.unknown()
            rule(self, arg)

    def unknown(self) -> DecodeError:
        """The error for what is at ``lasti``."""
        number = self.code.co_code[self.lasti]
        return DecodeError(f"opcode {number} at {self.lasti} in {self.code.co_qualname}")

    def emit(self, op: str, arg: int, val: Any = None, target: int | None = None) -> None:
        """Append a canonical instruction made from the original at ``lasti``."""
        instructions = self.instructions
        index = len(instructions)
        boundary = True
        if index and (last := instructions[-1]).lasti == self.lasti:
            boundary = last.ends = False
        instructions.append(
            Instruction(
                op, arg, val, index, self.start, self.lasti, self.next_offset, target, boundary
            )
        )

    def absorb(self) -> Instruction:
        """Take back the instruction emitted last: it is a prefix of the one that is here."""
        last = self.instructions.pop()
        for offset in range(self.start, self.lasti + 2, 2):
            self.starts[offset] = last.index
        self.start = last.offset
        return last

    def resolve(self) -> None:
        """Turn jump targets into indices and find the handler of each instruction."""
        starts = self.starts
        for inst in self.instructions:
            if inst.target is not None:
                inst.target = starts[inst.target]
        entries = list(exception_table(self.code.co_exceptiontable))
        if not entries:
            return
        following = iter(entries)
        start = end = 0
        handler: Handler | None = None
        done = False
        for inst in self.instructions:
            while inst.lasti >= end and not done:
                entry = next(following, None)
                if entry is None:
                    done, handler, start, end = True, None, 0, 0
                else:
                    start, end, target, depth, lasti = entry
                    handler = Handler(starts[target], depth, lasti)
            if handler is not None and start <= inst.lasti:
                inst.handler = handler


def exception_table(table: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """(start, end, target, depth, lasti) of each entry, offsets in bytes.

    Entries are sorted and do not overlap: the compiler wrote down the innermost handler of every
    range. Numbers are in groups of six bits, the highest first; bit 6 says that more follow.
    """
    stream = iter(table)

    def number() -> int | None:
        byte = next(stream, None)
        if byte is None:
            return None
        value = byte & 63
        while byte & 64:
            byte = next(stream)
            value = value << 6 | byte & 63
        return value

    while (start := number()) is not None:
        length, target, packed = number(), number(), number()
        if length is None or target is None or packed is None:
            raise DecodeError("exception table cut short")
        yield start * 2, (start + length) * 2, target * 2, packed >> 1, bool(packed & 1)


def rules_by_number(rules: Mapping[str, Rule], opmap: Mapping[str, int]) -> list[Rule | None]:
    """The table of one Python, by opcode number."""
    table: list[Rule | None] = [None] * 256
    for name, rule in rules.items():
        table[opmap[name]] = rule
    return table


# Rules that more than one Python uses.


def drop(walk: Walk, arg: int) -> None:
    """Nothing to run: whoever enters here runs the next instruction."""


def prefix(walk: Walk, arg: int) -> None:
    """Belongs to the next instruction, and has to be run with it."""
    walk.prefixed = True


def keyword_names(walk: Walk, arg: int) -> None:
    """The names of the keyword arguments of the call to come."""
    walk.keywords = walk.consts[arg]
    walk.prefixed = True


def plain(op: str) -> Rule:
    """The argument is its own meaning."""

    def rule(walk: Walk, arg: int) -> None:
        walk.emit(op, arg, arg)

    return rule


def meaning(op: str, function: Callable[[int], Any]) -> Rule:
    """The argument's meaning is ``function(arg)``."""

    def rule(walk: Walk, arg: int) -> None:
        walk.emit(op, arg, function(arg))

    return rule


def name(op: str) -> Rule:
    """The argument is an index into ``co_names``."""

    def rule(walk: Walk, arg: int) -> None:
        walk.emit(op, arg, walk.names[arg])

    return rule


def const(walk: Walk, arg: int) -> None:
    """Push a constant."""
    walk.emit("LOAD_CONST", arg, walk.consts[arg])


def forward(op: str, skip: int = 0) -> Rule:
    """Jump ahead by ``arg`` units, and over ``skip`` units at the target."""

    def rule(walk: Walk, arg: int) -> None:
        walk.emit(op, arg, None, walk.next_offset + 2 * (arg + skip))

    return rule


def backward(op: str) -> Rule:
    """Jump back by ``arg`` units."""

    def rule(walk: Walk, arg: int) -> None:
        walk.emit(op, arg, None, walk.next_offset - 2 * arg)

    return rule


def call(walk: Walk, arg: int) -> None:
    """A call, with the keyword names that a prefix gave."""
    walk.emit("CALL", arg, walk.keywords)
    walk.keywords = ()
