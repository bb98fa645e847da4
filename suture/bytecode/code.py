"""A decoded code object, and the memory of those decoded before."""

from __future__ import annotations

import importlib
import inspect
import opcode
import sys
import threading
from functools import cached_property
from types import CodeType
from typing import TypeVar
from weakref import WeakValueDictionary

from .decoder import DecodeError, Walk, rules_by_number
from .flow import Handling, handlings, loops, only_raises, stack_depths
from .instructions import Instruction
from .liveness import live_slots
from .passing import Use, use_of

T = TypeVar("T")

_VERSIONS = {
    (3, 11): "py311",
    (3, 12): "py312",
    (3, 13): "py313",
    (3, 14): "py314",
    (3, 15): "py315",
}

if sys.version_info[:2] not in _VERSIONS:
    raise ImportError(f"suture knows the bytecode of {', '.join(_VERSIONS.values())} only")

_python = importlib.import_module(f".{_VERSIONS[sys.version_info[:2]]}", __package__)
_RULES = rules_by_number(_python.RULES, opcode.opmap)
_EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]


# Whether `with` looks for the method that leaves before the one that enters.
EXIT_FIRST: bool = _python.EXIT_FIRST


def pair(function: T, null: T) -> tuple[T, T]:
    """The two slots below a call's arguments, deeper one first, for a callable without a self."""
    return (null, function) if _python.NULL_FIRST else (function, null)


def makes_generator(code: CodeType) -> bool:
    """Whether a call makes a generator, a coroutine or an asynchronous generator."""
    return bool(
        code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
    )


class Code:
    """The canonical form of one code object.

    code          the code object
    instructions  canonical instructions; ``instructions[i].index == i``
    entry         index of the first instruction (0)
    localsplus    names of the frame's slots: locals, cells, free variables
    nlocals       how many of them are locals
    cells         slots that hold a cell, arguments that become cells included
    frees         slots of free variables
    is_generator  calling it makes a generator, a coroutine or an asynchronous generator

    Depths, liveness, loops and positions are computed when first asked for.
    """

    entry = 0

    def __init__(self, code: CodeType) -> None:
        self.code = code
        variables = code.co_varnames
        cells = tuple(name for name in code.co_cellvars if name not in variables)
        self.localsplus: tuple[str, ...] = variables + cells + code.co_freevars
        self.nlocals = len(variables)
        self.cells = tuple(sorted(map(self.localsplus.index, code.co_cellvars)))
        first_free = self.nlocals + len(cells)
        self.frees = tuple(range(first_free, len(self.localsplus)))
        walk = Walk(code, self.cells + self.frees)
        walk.run(_RULES, _EXTENDED_ARG)
        walk.resolve()
        self.instructions: tuple[Instruction, ...] = tuple(walk.instructions)
        self._starts = walk.starts
        self.is_generator = makes_generator(code)

    def __repr__(self) -> str:
        return f"<Code {self.code.co_qualname}, {len(self.instructions)} instructions>"

    def index_of(self, offset: int) -> int:
        """The instruction that runs when a frame is entered at byte ``offset``; for an offset
        inside an instruction (``f_lasti`` may be one), that instruction."""
        starts = self._starts
        if not 0 <= offset < len(self.code.co_code):
            raise DecodeError(f"offset {offset} is outside of {self.code.co_qualname}")
        while offset not in starts:
            offset -= 2
        return starts[offset]

    def entry_of(self, index: int) -> tuple[int, int]:
        """The byte offset at which a frame is entered to continue at ``index``, and how many NULLs
        have to be on top of its stack: where one original makes a value and pushes NULL, it would
        make the value again."""
        inst = self.instructions[index]
        if inst.op == "PUSH_NULL" and not inst.boundary and inst.ends:
            return inst.next_offset, 1
        return inst.offset, 0

    def past_jumps(self, index: int) -> int:
        """Where a frame that goes on at ``index`` comes to without doing anything: a jump leads
        there. Unlike another Python's branch, this one's may not jump back by itself."""
        seen = set()
        instructions = self.instructions
        while index < len(instructions) and instructions[index].op == "JUMP" and index not in seen:
            seen.add(index)
            target = instructions[index].target
            assert target is not None
            index = target
        return index

    def live(self, index: int) -> tuple[int, ...]:
        """The slots needed to continue at ``index``, sorted. They may be unbound all the same."""
        slots = self._live_tuples.get(index)
        if slots is None:
            mask = self._live[index]
            slots = tuple(slot for slot in range(len(self.localsplus)) if mask >> slot & 1)
            self._live_tuples[index] = slots
        return slots

    def depth(self, index: int) -> int | None:
        """The number of values on the stack on entry of ``index``; None if nothing leads there."""
        return self._depths[index]

    def handled(self, index: int) -> int:
        """How many exceptions are being handled on entry of ``index``."""
        return len(self._handlings[index])

    def handling(self, index: int) -> tuple[Handling, ...]:
        """The exceptions being handled on entry of ``index``, outermost first."""
        return self._handlings[index]

    def in_loop(self, index: int) -> bool:
        """Whether ``index`` can be reached again from itself."""
        return self._loops[index]

    def only_raises(self, index: int) -> bool:
        """Whether every way on from ``index`` ends in a ``raise``."""
        return only_raises(self.instructions, index)

    def use(self, index: int) -> Use:
        """What becomes of the value that ``index`` pushes."""
        found = self._uses.get(index)
        if found is None:
            found = self._uses[index] = use_of(self.instructions, index)
        return found

    def line(self, index: int) -> int | None:
        """The source line of ``index``, None where the compiler noted none."""
        return self._positions[self.instructions[index].lasti // 2][0]

    def place(self, index: int) -> tuple[str, int]:
        """The file and the source line of ``index``; line 0 where the compiler noted none."""
        found = self.places.get(index)
        if found is None:
            found = self.places[index] = (self.code.co_filename, self.line(index) or 0)
        return found

    def positions(self, index: int) -> tuple[int | None, int | None, int | None, int | None]:
        """First line, last line, first column, last column (in bytes) of ``index``."""
        return self._positions[self.instructions[index].lasti // 2]

    @cached_property
    def places(self) -> dict[int, tuple[str, int]]:
        """What `place` has told so far."""
        return {}

    @cached_property
    def _live_tuples(self) -> dict[int, tuple[int, ...]]:
        return {}

    @cached_property
    def _uses(self) -> dict[int, Use]:
        return {}

    @cached_property
    def _live(self) -> list[int]:
        return live_slots(self.code, self.instructions, self.localsplus, self.frees)

    @cached_property
    def _depths(self) -> list[int | None]:
        return stack_depths(self.instructions)

    @cached_property
    def _handlings(self) -> list[tuple[Handling, ...]]:
        return handlings(self.instructions)

    @cached_property
    def _loops(self) -> list[bool]:
        return loops(self.instructions)

    @cached_property
    def _positions(self) -> list[tuple[int | None, int | None, int | None, int | None]]:
        return list(self.code.co_positions())


# Code objects compare by value, and equal ones (two lambdas alike on one line) are still two code
# objects; so the memory goes by identity. A Code holds its code object, hence an id in `_known`
# cannot come to mean another one while the entry lives. Whoever keeps a Code keeps its entry;
# besides those, the `_KEPT` last decoded ones stay, so that short-lived code does not pile up.
_KEPT = 1024
_known: WeakValueDictionary[int, Code] = WeakValueDictionary()
_recent: dict[int, Code] = {}
_lock = threading.Lock()


def decode(code: CodeType) -> Code:
    """The canonical form of ``code``: one ``Code`` for each code object as long as it is in use."""
    key = id(code)
    found = _recent.get(key)
    if found is not None:
        return found
    with _lock:
        found = _known.get(key)
        if found is None:
            found = _known[key] = Code(code)
        while len(_recent) >= _KEPT:
            del _recent[next(iter(_recent))]
        _recent[key] = found
    return found
