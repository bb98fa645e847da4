"""Generators that the program has dropped in the midst of their elements: their blocks are left."""

from __future__ import annotations

import gc
import sys
from typing import Any

from suture.breaks import Break, control_flow
from suture.calls.part import Part
from suture.effects import Effects
from suture.variables import Generator, Raised

_OWN_REFERENCES = 2  # that of the table of waiting generators, and the argument that asks
_CONTAINERS = (list, tuple, dict, set, frozenset)
_OF_VARIABLES = ("suture.variables", "suture.calls", "suture.tracer.frame")
_LOOKED_AT = 100_000  # objects, at most, to find out what can be reached


class Dropped(Part):
    """The part of the tracer that closes generators as CPython does when nothing refers to them:
    variables refer to each other as the objects do that they stand for. `waiting`: those that have
    begun and not ended. `unwound`: frames that exceptions have left, which tracebacks keep."""

    effects: Effects
    unwound: list[Any]
    waiting: dict[int, Generator]

    def leave_frames(self, depth: int) -> None:
        """An exception leaves the frames above `depth`."""
        gone = self.frames[depth:]
        for frame in gone:
            if frame.generator is not None:
                frame.generator.frame = None
                frame.generator.running = False
        del self.frames[depth:]
        if self.waiting:
            for frame in gone:
                frame.stack.clear()
            self.unwound += gone

    def close_dropped(self) -> None:
        """Close the generators that the instruction has dropped."""
        while (gen := self._dropped()) is not None:
            self._close(gen)

    def close_at_end(self, result: Any) -> None:
        """The region returns `result`: close the generators that only its frames knew."""
        self.unwound.clear()
        for frame in self.frames:
            if not frame.resumed:
                frame.locals = [None] * len(frame.locals)
        self.close_dropped()
        if self.waiting:
            reached = _reached([result, *self._kept()])
            for key in [key for key in self.waiting if key not in reached]:
                gen = self.waiting.pop(key, None)
                if gen is not None:
                    self._close(gen)

    def _dropped(self) -> Generator | None:
        touched = self.effects.touched
        for key in self.waiting:
            ours = _OWN_REFERENCES + (key in touched)
            if sys.getrefcount(self.waiting[key]) <= ours:
                return self.waiting.pop(key)
        return None

    def _close(self, gen: Generator) -> None:
        frame = gen.frame
        if frame is None:
            return
        if frame.code.instructions[frame.ip - 1].handler is None:
            gen.frame = None  # none of its code would run
            return
        try:
            self.generator_close(gen)
        except Raised:  # which Python only prints
            raise Break(control_flow.UNKNOWN_ITERATOR, iterator=gen.describe()) from None
        if frame in self.unwound:  # nobody has the traceback of what closed it
            self.unwound.remove(frame)

    def _kept(self) -> list[Any]:
        """What outlives the region: objects from outside that it has changed, and what it calls."""
        effects = self.effects
        outside = [v for v in effects.touched.values() if v.source is not None]
        return [outside, effects.globals, effects.calls, effects.passed, self.frames]


class _Everything:
    """A set of ids that holds all of them."""

    def __contains__(self, _: object) -> bool:
        return True


def _reached(roots: list[Any]) -> Any:
    """The ids of all variables, and what they are made of, that can be reached."""
    seen: set[int] = set()
    work = [roots]
    while work:
        at: Any = work.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if len(seen) > _LOOKED_AT:
            return _Everything()
        if type(at) in _CONTAINERS or type(at).__module__.startswith(_OF_VARIABLES):
            work += gc.get_referents(at)
    return seen
