"""A unit: what one `suture.compile` call makes. It owns the points reached from it.

A miss at a point is answered here: trace again if the limits allow, else interpret.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable

from suture import _core
from suture.dispatch.history import History
from suture.hook import Chain, chain_key, interpret, where


@dataclass(slots=True, eq=False)
class Variant:
    """One compiled region of a point."""

    function: Any
    source: str
    guards: Any
    program: Any
    module: Any
    number: int
    breaks: Any = None
    ops: int = 0


@dataclass(slots=True, eq=False)
class PointData:
    """What a point remembers: its chain, its variants, its history."""

    chain: Chain
    history: History
    interpret_only: bool = False
    variants: list[Variant] = field(default_factory=list)
    failures: int = 0


@dataclass(eq=False)
class Options:
    """What the user asked of `compile`."""

    backend: Any
    fullgraph: bool = False
    dynamic: bool | None = None
    recompile_limit: int | None = None
    name: str | None = None


class Unit:
    """All points of one compiled function. `compiler(unit, point, data, state)` gives a Variant,
    or None to interpret."""

    def __init__(self, options: Options, compiler: Callable[..., Any]) -> None:
        self.options = options
        self.compiler = compiler
        self.points: dict[Any, Any] = {}
        self.lock = threading.RLock()

    def point(self, chain: Chain, interpret_only: bool = False) -> Any:
        """The Point of a chain; the same one each time."""
        key = (interpret_only, *chain_key(chain))
        found = self.points.get(key)
        if found is None:
            name, _, line = where(chain)
            data = PointData(chain, History(self.options.dynamic), interpret_only)
            found = _core.Point(f"{name}:{line}", self._on_miss, data)
            self.points[key] = found
        return found

    def _on_miss(self, point: Any, state: tuple[Any, ...]) -> Any:
        data = point.data
        if data.interpret_only:
            return _Interpreting(data.chain)
        variant = self.compiler(self, point, data, state)
        if variant is None:
            return _Interpreting(data.chain)
        return variant.function

    def clear(self) -> None:
        """Forget everything compiled."""
        with self.lock:
            for point in self.points.values():
                for function in list(point.variants):
                    point.remove(function)
                point.data.variants.clear()


class _Interpreting:
    """Takes a state and goes on in the interpreter."""

    __slots__ = ("chain",)

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def __call__(self, *state: Any) -> Any:
        return interpret(self.chain, state)


ALL: weakref.WeakSet[Unit] = weakref.WeakSet()
