"""What values need of the emitter: how they are made real again."""

from __future__ import annotations

from typing import Protocol

import torch.fx


class Emitter(Protocol):
    """The emitter as a value sees it."""

    def value(self, variable: object) -> str:
        """An expression that makes the value real."""

    def constant(self, value: object, hint: str = "c") -> str:
        """A name that is bound to `value` in the variant."""

    def line(self, text: str) -> None:
        """One more line of the variant's body."""

    def last(self, text: str) -> None:
        """A line after all those that make and change objects."""

    def fresh(self, hint: str) -> str:
        """A name not used yet."""

    # ---- objects that hold each other

    def begin(self, variable: object, made: str) -> str:
        """Make an empty object by the expression `made`, before what it holds, which may hold it
        too; gives its name."""

    def named(self, variable: object, name: str) -> None:
        """Say what a value is called before what it holds is made."""

    def made(self, variable: object) -> str | None:
        """What a value is called, if it has been made already."""

    def is_made(self, variable: object) -> bool:
        """Whether a value has a name already."""

    # ---- what the graph and generators give

    def graph_output(self, variable: object) -> str:
        """The name of the value of a node: from then on it is a result of the graph."""

    def made_input(self, node: torch.fx.Node) -> str:
        """The name of an input of the graph that the variant makes itself."""

    def generator(self, variable: object) -> str:
        """A real generator, suspended where the traced one is."""
