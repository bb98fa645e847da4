"""Answers of cached functions that were traced may not be seen to be others than the cache's.

Such a function gives the same object each time it is asked. What its traced body made serves as
well, as long as it stays inside the region and nobody changes it; else Python makes the call.
"""

from __future__ import annotations

from suture.compiler.core import Mutable
from suture.compiler.effects import Effects
from suture.compiler.emit.writer import Writer
from suture.compiler.objects import MadeByPython


def refuse_answers(writer: Writer, effects: Effects) -> None:
    """Raise MadeByPython for an answer that leaves the region, or was changed."""
    if not effects.answers:
        return
    leaving = [value.born for value in writer.kept() if isinstance(value, Mutable)]
    for answer in effects.answers:
        began, ended = answer.span
        changed = effects.log[answer.changes :]
        if any(began < born <= ended for born in (*leaving, *changed)):
            raise MadeByPython(answer.position, "the answer of a cached function")
