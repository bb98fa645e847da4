"""What abstract values need of the tracer and of the emitter.

The tracer and the emitter implement these; values and calls see nothing else of them. That
cuts the cycle between tracer and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from suture.effects import Effects
from suture.graph import GraphBuilder
from suture.guards import Guards
from suture.sources import Source


class Tracer(Protocol):
    """The tracer as a value sees it."""

    guards: Guards
    graph: GraphBuilder
    effects: Effects

    def wrap(self, value: Any, source: Source | None) -> Any:
        """The abstract value of a real one; guarded if it has a source."""

    def call(self, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call now and come back with the result (never leaves a frame behind)."""

    def tail_call(self, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call as the last act of an instruction: the result, or a frame to go on with."""

    def raise_(self, kind: type[BaseException], *args: Any) -> Any:
        """Raise a Python exception in the traced program."""


class Emitter(Protocol):
    """The emitter as a value sees it."""

    def value(self, variable: Any) -> str:
        """An expression that makes the value real."""

    def constant(self, value: Any, hint: str = "c") -> str:
        """A name that is bound to `value` in the variant."""

    def line(self, text: str) -> None:
        """One more line of the variant's body."""

    def last(self, text: str) -> None:
        """A line behind all that make and change objects."""

    def fresh(self, hint: str) -> str:
        """A name not used yet."""
