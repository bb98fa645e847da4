"""Numbers that count objects of the process, such as the id of a hook's handle."""

from __future__ import annotations

from typing import Any

from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.made_by_python import MadeByPython


class Serial(Value):
    """A number that no other object has, and another one in each call. Nothing reads it inside of a
    region; should it leave, Python makes it at `position`, the call that took it."""

    __slots__ = ("position",)

    def __init__(self, position: Any) -> None:
        super().__init__(None)
        self.position = position

    def python_type(self) -> type:
        return int

    def describe(self) -> str:
        return "a serial number"

    def truth(self, trace: Trace) -> bool | None:
        return None

    def rebuild(self, emit: Emitter) -> str:
        raise MadeByPython(self.position, self.describe())
