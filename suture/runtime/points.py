"""What is at a point, and what the user asked of `compile`: plain data."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Protocol

import torch

from suture import _core, config
from suture.runtime.branches import Position
from suture.runtime.callers import Caller
from suture.runtime.chain import Chain, chain_key
from suture.runtime.interpret import must_raise
from suture.runtime.leaving import Interpreting
from suture.runtime.parameters import Parameters
from suture.runtime.plain_values import Asked


@dataclass(slots=True, eq=False, weakref_slot=True)
class Variant:
    """One compiled region of a point: a function of the state, and the guards under which it may be
    called."""

    function: Any
    source: str
    guards: Any  # a `Guards`, or what the cache has of one
    program: _core.GuardProgram
    module: torch.nn.Module | None  # the graph that it calls, as it was captured
    number: int  # among the variants of its point
    exit: str = ""  # the kind of its exit; the values it left with are not kept
    ops: int = 0  # operations of the graph
    parameters: Parameters | None = None  # reads those of modules that are arguments
    bound: list[Any] = field(default_factory=list)  # copies for one module each
    own: bool = False  # it may be removed on its own: no other unit shares it
    caller: Caller | None = None  # the way into its graph, if it has one
    general: bool = False  # it fits states for which others were made: those come first
    ends_at: Position | None = None  # the branch on data that it ends with, if it does


@dataclass(slots=True, eq=False)
class PointData:
    """What a point remembers: its chain, its variants, what the compiler learned there."""

    chain: Chain
    history: Any = None  # of the compiler; None until a miss is compiled
    interpret_only: bool = False
    raises: bool = False  # tracing found that the program raises here
    variants: list[Variant] = field(default_factory=list)
    fallbacks: list[Variant] = field(default_factory=list)  # end at branches that are expected
    reasons: list[str] = field(default_factory=list)
    never_compiles: bool = False  # nothing is compiled here any more
    implicit: bool = False  # a function that compiled code called; not compiled by request
    full_at: float = math.inf  # with this many variants there may be no more
    no_operations_reported: bool = False
    elsewhere: str = ""  # why other ranks compile, where this one would not
    mode_reported: bool = False  # that a TorchDispatchMode keeps this point from being compiled
    plain: CodeType | None = None  # of a function that was traced long without an operation
    left: int = 0  # calls that were left to Python because they can meet no tensor
    left_under: int = 0  # entries of the point that leave such calls to Python without asking
    # Of those, the ones that hold for a while: what says so, and the guards.
    left_recently: list[tuple[Asked, _core.GuardProgram]] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)  # files of the cache that variants came from
    unkept: list[str] = field(default_factory=list)  # why variants are not in the cache
    _interpreting: Any = None

    def __post_init__(self) -> None:
        self._interpreting = Interpreting(self.chain)

    def key(self) -> Any:
        """Under what the point is found."""
        return (self.interpret_only, self.raises, *chain_key(self.chain))

    @property
    def interpreting(self) -> Any:
        """What takes a state and continues in the interpreter. Where the trace found that the
        program raises, strict mode makes sure that it does."""
        if self.raises and config.strict:
            return functools.partial(must_raise, self.chain)
        return self._interpreting


@dataclass(eq=False)
class Options:
    """What the user asked of `compile`."""

    backend: Any
    fullgraph: bool = False
    dynamic: bool | None = None
    recompile_limit: int | None = None
    name: str | None = None
    isolate: bool = False
    shapes: dict[str, Any] | None = None  # what `dynamic_shapes` says of the arguments, by path

    def key(self) -> tuple[Any, ...] | None:
        """What two calls of `compile` must have in common to share what they compile."""
        if self.isolate or self.shapes is not None:
            return None
        return (self.backend, self.fullgraph, self.dynamic, self.recompile_limit, self.name)

    def limit(self) -> int:
        """How many variants a point may have."""
        return config.recompile_limit if self.recompile_limit is None else self.recompile_limit


class Compiler(Protocol):
    """What a unit calls of the compiler, which the runtime does not import: `loading` has an
    object that loads the compiler at its first use."""

    def answer(self, unit: Any, point: _core.Point, state: tuple[Any, ...]) -> Callable[..., Any]:
        """What takes the state where no variant fits: a new variant, or the interpreter."""
        ...

    def explain(self, data: PointData, variant: Variant, state: tuple[Any, ...]) -> str:
        """The guard of a variant that fails on this state, in the words of the program."""
        ...

    def learn_from_rank(
        self, unit: Any, data: PointData, sizes: dict[str, list[int]], numbers: dict[str, Any]
    ) -> None:
        """Note what another rank was called with, by path: what differs is a symbol here too."""
        ...

    def stored(self, unit: Any, point: _core.Point, state: tuple[Any, ...]) -> Variant | None:
        """A variant for the state that another process compiled, if the cache has one."""
        ...

    def report_mode(self, point: _core.Point) -> None:
        """Report that nothing is compiled while a TorchDispatchMode sees each operation."""
        ...

    def configure(self, backend: Any) -> Any:
        """The backend that `compile(backend=backend)` means."""
        ...


def try_remove(place: Any, what: Any) -> bool:
    """Remove something from a list or a point; whether it was there. Of several threads that try,
    one gets True: both kinds of places remove in one step."""
    try:
        place.remove(what)
    except ValueError:
        return False
    return True
