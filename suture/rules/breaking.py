"""Which numbered break a verdict leads to, before anything is traced."""

from __future__ import annotations

from typing import Any

from suture.breaks import calls
from suture.breaks.registry import BreakType
from suture.rules.verdict import RUN, SPECIAL, Origin, Verdict
from suture.rules.wrapped import canonical, has_code

_BY_HANDLER = {
    "graph_break": calls.GRAPH_BREAK_CALL,
    "skip_frame": calls.SKIP_FRAME,
    "forbidden": calls.FORBIDDEN,
}


def break_of(obj: Any, verdict: Verdict) -> BreakType | None:
    """The break at a call of `obj`, on which `verdict` was given; None if there is none."""
    if verdict.kind is SPECIAL:
        return _BY_HANDLER.get(verdict.name)
    if verdict.kind is not RUN:
        return None
    if verdict.origin is Origin.DISABLED:
        return calls.DISABLED
    if isinstance(obj, type) or has_code(canonical(obj)):
        return calls.PYTHON_FUNCTION_RUN
    return calls.C_FUNCTION
