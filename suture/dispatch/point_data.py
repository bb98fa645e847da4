"""What a point knows: its variants, and what earlier calls were like."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

from suture import config
from suture.dispatch.history import History
from suture.dispatch.leaving import Interpreting
from suture.hook import Chain, chain_key, must_raise


@dataclass(slots=True, eq=False, weakref_slot=True)
class Variant:
    """One compiled region of a point."""

    function: Any
    source: str
    guards: Any
    program: Any
    module: Any
    number: int
    exit: str = ""  # the kind of its exit; the values it left with are not kept
    ops: int = 0
    parameters: Any = None  # reads those of modules that are arguments
    bound: list[Any] = field(default_factory=list)  # copies for one module each
    own: bool = False  # it may go by itself: no other unit shares it
    caller: Any = None  # the way into its graph, if it has one
    general: bool = False  # it fits states for which others were made: those come first
    ends_at: Any = None  # the place of the branch on data that it ends with, if it does


@dataclass(slots=True, eq=False)
class PointData:
    """What a point remembers: its chain, its variants, its history."""

    chain: Chain
    history: History
    interpret_only: bool = False
    raises: bool = False  # the program raises here
    variants: list[Variant] = field(default_factory=list)
    put_aside: list[Variant] = field(default_factory=list)  # end at branches that are expected
    reasons: list[str] = field(default_factory=list)
    given_up: bool = False
    offered: bool = False  # a function that compiled code called; nobody asked to compile it
    full_at: float = math.inf  # with so many variants there may be no more
    called: bool = False
    watched: bool = False  # it was told that a mode sees each operation
    _interpreting: Any = None

    def __post_init__(self) -> None:
        self._interpreting = Interpreting(self.chain)

    def key(self) -> Any:
        """Under what the point is found."""
        return (self.interpret_only, self.raises, *chain_key(self.chain))

    @property
    def interpreting(self) -> Any:
        """What takes a state and goes on in the interpreter. Where the trace found that the
        program raises, strict mode makes sure that it does."""
        if self.raises and config.strict:
            return functools.partial(must_raise, self.chain)
        return self._interpreting
