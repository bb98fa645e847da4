"""The request to trace a region again, with Python in charge of a call."""

from __future__ import annotations

from typing import Any


class MadeByPython(Exception):
    """What a call made is needed as Python makes it (an iterator in the midst of its elements, a
    tensor whose derivative is used up): the region is traced again, and Python runs the call at
    `position` (code, index). `what` names it."""

    def __init__(self, position: Any, what: str) -> None:
        super().__init__(position)
        self.position = position
        self.what = what
