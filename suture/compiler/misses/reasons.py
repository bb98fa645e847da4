"""Why a variant did not fit a state, in the words of the program."""

from __future__ import annotations

from typing import Any

from suture.compiler.guards.names import called_module, slot_words, spoken
from suture.compiler.guards.reasons import reason as reason_of
from suture.runtime.points import PointData, Variant


def explain_miss(data: PointData, variant: Variant, state: tuple[Any, ...]) -> str:
    """The guard of a variant that fails on this state, in the user's terms."""
    found = variant.program.explain(*state)
    if found is None:
        return "the variant is gone"
    number, text = found
    entries = variant.guards.entries
    if not 0 <= number < len(entries):
        return str(text)
    module = called_module(data.chain, type(state[1]) if len(state) > 1 else None)
    return spoken(reason_of(entries[number], text), slot_words(data.chain), module)
