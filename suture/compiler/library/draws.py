"""Numbers drawn from Python's own generator: `random.random()`, `random.uniform(0, 1)` and kin.

The variant draws before it calls its graph, in the program's order, so that the generator is where
eager leaves it. The number goes into the graph as a tensor and is a number from data there: it may
be computed with, and a branch on it is a break. A region that is run again puts the generator back
first.
"""

from __future__ import annotations

import math
import operator
import random
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from suture import rules
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls import unmodelled
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.compiler.torch.symbols import number_from_data
from suture.runtime.sources import Source, pinned

FUNCTIONS = (random.random, random.uniform, random.randint, random.randrange, random.gauss)
_CPU = torch.device("cpu")


@dataclass(slots=True, eq=False)
class Draw:
    """One call of a function of `random`, or of a method of the generator `owner`. The object
    itself stands for its result where sources are read."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Value]
    state: tuple[Any, Any] | None = (random.getstate, random.setstate)  # of its generator
    owner: Source | None = None
    gives_generator: bool = False  # it makes a generator: nothing of another one changes
    item: torch.fx.Node | None = None  # takes the number out of its tensor


def draw_number(trace: Trace, drawn: Draw, example: float) -> Value:
    """The number that a call will give, as a symbol. `example` is one that it might."""
    real = as_tensor(example)
    fake = trace.graph.fake.from_tensor(real, static_shapes=True)
    node = trace.graph.add_input(pinned(drawn, "drawn"), real, fake, convert=as_tensor)
    made = number_from_data(trace, Tensor(node, fake), "item")
    assert isinstance(made, Symbol)
    drawn.item = made.node
    trace.numbers.draws.append(drawn)
    return made


@implements(abstract.compare_drawn)
def compare_drawn(trace: Trace, symbol: str, left: Any, right: Any) -> Value | None:
    drawn = next((d for d in trace.numbers.draws if d.item is left.node), None)
    if drawn is None or symbol not in _ORDERS or not right.is_constant():
        return None
    bounds, compare = _bounds(drawn), _ORDERS[symbol]
    if bounds is None or type(right.constant()) not in (int, float):
        return None
    low, high = (compare(bound, right.constant()) for bound in bounds)
    return Constant(low) if low is high else None


def _bounds(drawn: Draw) -> tuple[Any, Any] | None:
    """The lowest and the highest number that may be drawn, where that is plain."""
    if drawn.function in (random.random, random.Random.random):
        return 0.0, math.nextafter(1.0, 0.0)
    if drawn.function in _BETWEEN and len(drawn.args) == 2:
        return min(drawn.args), max(drawn.args)
    return None


_BETWEEN = (random.uniform, random.randint, random.Random.uniform, random.Random.randint)
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def as_tensor(value: float) -> torch.Tensor:
    """A drawn number as a tensor, exactly, whatever the default device and dtype are."""
    kind = torch.int64 if type(value) is int else torch.float64
    return torch.scalar_tensor(value, dtype=kind, device=_CPU)


def may_be_large(function: Any, values: tuple[Any, ...]) -> bool:
    """Whether a number may be drawn that does not fit into the 64 bits of a tensor's element."""
    most = 62 if function.__name__ == "getrandbits" else 2**62
    return any(type(v) is int and abs(v) > most for v in values)


def draw(
    trace: Trace, function: Any, args: list[Value], kwargs: dict[str, Value], owner: Source | None
) -> Value | None:
    """The number that `function` draws, of `random` or of the generator `owner`; None where only
    Python can call it."""
    outermost = len(trace.graph.levels.stack) == 1
    if not outermost or not abstract.all_known(trace, args, kwargs):
        return None
    values = tuple(a.constant() for a in args)
    named = {name: value.constant() for name, value in kwargs.items()}
    if may_be_large(function, (*values, *named.values())):
        return None
    try:
        example = getattr(random.Random(0), function.__name__)(*values, **named)
    except (TypeError, ValueError):
        return None  # Python raises it
    drawn = Draw(function, values, named)
    if owner is not None:
        drawn.state, drawn.owner = None, owner
    return draw_number(trace, drawn, example)


def _handler(function: Any) -> Any:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        found = draw(trace, function, args, kwargs, None)
        if found is None:
            raise unmodelled.reason(function, rules.lookup(function), args)
        return found

    return handler


for _function in FUNCTIONS:
    handles(_function)(_handler(_function))
