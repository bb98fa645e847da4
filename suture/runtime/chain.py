"""Frame specs and chains: which frames are where at a point.

A point's state is one flat tuple. For each frame, innermost first: its function, its live
slots, its value stack, then (if `handling`) the exception being handled, then (if `deliver`) the
object its caller gets instead of the return value.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from types import CodeType

from suture.bytecode import decode


@dataclass(frozen=True, slots=True, eq=False)
class FrameSpec:
    """One frame of a chain: where it is and what of it is kept.

    waiting: the frame waits for the value of the frame before it in the chain.
    resumed: the frame is a generator's own, which is being resumed; it stays the outermost one.
    """

    code: CodeType
    index: int
    live: tuple[int, ...]
    depth: int
    handling: bool = False
    deliver: bool = False
    waiting: bool = False
    resumed: bool = False

    @property
    def size(self) -> int:
        return 1 + len(self.live) + self.depth + self.handling + self.deliver

    def stack_slot(self, i: int) -> int:
        """Where the value at index `i` of the stack is in the frame's part of the state."""
        return 1 + len(self.live) + i

    def key(self) -> tuple[object, ...]:
        return (
            id(self.code),
            self.index,
            self.live,
            self.depth,
            self.handling,
            self.deliver,
            self.resumed,
        )

    def names(self) -> list[str]:
        """A name for each item of the frame's state, for people and for parameters."""
        local = decode(self.code).localsplus
        out = ["fn", *(local[i] for i in self.live)]
        out += [f"stack_{i}" for i in range(self.depth)]
        if self.handling:
            out.append("handled")
        if self.deliver:
            out.append("made")
        return out


Chain = tuple[FrameSpec, ...]


def entry_chain(code: CodeType) -> Chain:
    """The chain of a function's start: its arguments are live, the stack is empty."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return (FrameSpec(code, 0, tuple(range(count)), 0),)


def resumed_chain(code: CodeType, offset: int) -> Chain:
    """The chain of a generator that is resumed after the instruction at `offset`: the core hands
    over all its slots, and the value sent on top of the stack."""
    decoded = decode(code)
    index = decoded.index_of(offset) + 1
    depth = decoded.depth(index)
    assert depth is not None  # a generator was there
    return (FrameSpec(code, index, tuple(range(len(decoded.localsplus))), depth, resumed=True),)


def chain_key(chain: Chain) -> tuple[object, ...]:
    return tuple(spec.key() for spec in chain)


def slot_names(chain: Chain) -> list[str]:
    """A distinct name for each slot of the state."""
    taken: set[str] = set()
    out = []
    for spec in chain:
        for name in spec.names():
            base = name if name.isidentifier() else "it"
            base = f"{base}_" if base in _TAKEN else base
            name, n = base, 1
            while name in taken:
                n += 1
                name = f"{base}_{n}"
            taken.add(name)
            out.append(name)
    return out


# Names that the variants themselves use.
_TAKEN = frozenset({"graph", "held", "exc", "UNBOUND", *dir(builtins)})


def where(chain: Chain) -> tuple[str, str, int]:
    """(function, file, line) of the innermost frame. An instruction that the compiler notes no line
    for, such as the jump at the end of a loop, has that of the one before it; one at the start of
    a function, such as that which copies variables of a closure, has the function's own."""
    spec = chain[0]
    code = decode(spec.code)
    at = min(spec.index, len(code.instructions) - 1)
    line = next((n for i in range(at, -1, -1) if (n := code.line(i))), spec.code.co_firstlineno)
    return spec.code.co_qualname, spec.code.co_filename, line
