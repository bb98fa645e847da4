"""Cells: variables that functions share."""

from __future__ import annotations

import types

from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Held, Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.runtime.sources import Source


class Cell(Mutable):
    """A closure cell. `contents` is None while it is empty, Lazy until somebody looks."""

    __slots__ = ("contents",)

    def __init__(self, contents: Held | None = None, source: Source | None = None) -> None:
        super().__init__(source)
        self.contents = contents

    def python_type(self) -> type:
        return types.CellType

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "cell_contents":
            found = load_cell(trace, self)
            return (
                found if found is not None else abstract.raise_(trace, ValueError, "Cell is empty")
            )
        return super().getattr(trace, name)

    def rebuild(self, emit: Emitter) -> str:
        name = self.begin(emit)
        self.write_back(emit, name)
        return name

    def begin(self, emit: Emitter) -> str:
        """The cell, still empty."""
        return str(emit.begin(self, f"{emit.constant(types.CellType, 'Cell')}()"))

    def write_back(self, emit: Emitter, name: str) -> None:
        if self.contents is not None:
            emit.line(f"{name}.cell_contents = {emit.value(self.contents)}")
        elif self.changed and self.source is not None:
            emit.line(f"del {name}.cell_contents")


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def load_cell(trace: Trace, cell: Cell) -> Value | None:
    """What a cell holds, or None if it is empty."""


@declared
def wrap_cell(trace: Trace, cell: types.CellType, source: Source | None) -> Cell:
    """The value of a closure cell; its contents are looked at when they are read."""
