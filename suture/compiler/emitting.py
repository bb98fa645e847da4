"""What values need of the emitter: how they are made real again."""

from __future__ import annotations

from typing import Any, Protocol


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
