"""What takes a state and leaves compiled code with it."""

from __future__ import annotations

from typing import Any

from suture.runtime.chain import Chain
from suture.runtime.interpret import interpret


class Throwing:
    """Takes a state and raises there, so that the program's own blocks are left as they should."""

    __slots__ = ("chain", "error")

    def __init__(self, chain: Chain, error: BaseException) -> None:
        self.chain = chain
        self.error = error

    def __call__(self, *state: Any) -> Any:
        return interpret(self.chain, state, self.error)


class Interpreting:
    """Takes a state and continues in the interpreter."""

    __slots__ = ("chain",)

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def __call__(self, *state: Any) -> Any:
        return interpret(self.chain, state)
