"""random.Random: generators of the program's own, from outside or made here.

Their numbers are drawn like those of Python's own generator (`draws`). One that is made here is
made by the variant before it draws; its seed is known, so nobody can tell when.
"""

from __future__ import annotations

import random
from typing import Any

from suture import rules
from suture.compiler import abstract
from suture.compiler.calls import unmodelled
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.library.draws import Draw, draw
from suture.compiler.models import handles
from suture.compiler.objects.instance import Object
from suture.runtime.sources import Source, pinned

_Random = random.Random
_METHODS = (
    _Random.random, _Random.uniform, _Random.randint, _Random.randrange, _Random.gauss,
)  # fmt: skip
_SEEDS = (type(None), int, float, str, bytes)


class MadeGenerator(Value):
    """A generator that the region makes; `made` is the call that does."""

    __slots__ = ("made",)

    def __init__(self, made: Draw) -> None:
        super().__init__(None)
        self.made = made

    def python_type(self) -> type:
        return _Random

    def getattr(self, trace: Trace, name: str) -> Value:
        found = getattr(_Random, name, None)
        if found is None or not callable(found) or name.startswith("__"):
            return super().getattr(trace, name)
        return abstract.method(trace, abstract.wrap(trace, found, None), self)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.made, "generator"))


@handles(_Random)
def _make(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    known = len(args) < 2 and not kwargs and all(a.is_constant() for a in args)
    values = tuple(a.constant() for a in args) if known else ()
    outermost = len(trace.graph.levels.stack) == 1
    if not known or not outermost or any(type(v) not in _SEEDS for v in values):
        raise unmodelled.reason(_Random, rules.lookup(_Random), args)
    made = Draw(_Random, values, {}, state=None, gives_generator=True)
    trace.numbers.draws.append(made)
    return MadeGenerator(made)


def _handler(function: Any) -> Any:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        owner = _owner(args[0]) if args else None
        found = draw(trace, function, args[1:], kwargs, owner) if owner is not None else None
        if found is None:
            raise unmodelled.reason(function, rules.lookup(function), args)
        return found

    return handler


def _owner(generator: Value) -> Source | None:
    """Where the variant finds a generator; None if it is one of a class of the program."""
    if isinstance(generator, MadeGenerator):
        return pinned(generator.made, "generator")
    if isinstance(generator, Object) and generator.cls is _Random:
        return generator.source
    return None


for _function in _METHODS:
    handles(_function)(_handler(_function))
