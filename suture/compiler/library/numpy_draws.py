"""Numbers drawn from NumPy's own generator: `numpy.random.rand()`, `numpy.random.randint(0, 9)`,
and arrays of them, `numpy.random.randn(3, 4)`.

The variant draws them, as it does those of Python's generator (`draws`): a number is a number from
data in the graph, and an array an input of it.
"""

from __future__ import annotations

from typing import Any

import torch

from suture import rules
from suture.compiler import abstract
from suture.compiler.calls import unmodelled
from suture.compiler.core import Trace, Value
from suture.compiler.library.draws import Draw, draw_number, may_be_large
from suture.compiler.models import handles
from suture.compiler.objects import Tensor
from suture.compiler.objects.array import Array
from suture.runtime.reads import tensor_over
from suture.runtime.sources import pinned

_NAMES = (
    "rand", "randn", "random", "random_sample", "uniform", "normal", "standard_normal", "randint",
    "permutation",
)  # fmt: skip
_MOST = 1 << 20  # numbers that are drawn once more than the program does, to see their form


def _handler(function: Any) -> Any:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        refused = unmodelled.reason(function, rules.lookup(function), args)
        if len(trace.graph.levels.stack) > 1 or _is_seeded(trace):
            raise refused
        if not abstract.all_known(trace, args, kwargs):
            raise refused
        values = tuple(abstract.constant_value(trace, a) for a in args)
        named = {name: abstract.constant_value(trace, value) for name, value in kwargs.items()}
        given = (*values, *named.values())
        if may_be_large(function, given) or not all(_is_plain(v) for v in given):
            raise refused
        try:
            example = getattr(numpy.random.RandomState(0), function.__name__)(*values, **named)
        except (TypeError, ValueError):
            raise refused from None  # Python raises it
        state = (numpy.random.get_state, numpy.random.set_state)
        drawn = Draw(function, values, named, state)
        if type(example) in (int, float):
            return draw_number(trace, drawn, example)
        if type(example) is not numpy.ndarray or example.ndim == 0 or example.size > _MOST:
            raise refused
        return _draw_array(trace, drawn, tensor_over(example))

    return handler


def _is_seeded(trace: Trace) -> bool:
    """Whether the region has seeded the generator, which happens when it ends."""
    return any(fn is numpy.random.seed for fn, _, _ in trace.effects.calls)


def _is_plain(value: object) -> bool:
    """Whether it is a number, or a tuple of numbers that says a shape."""
    if isinstance(value, tuple):
        return all(type(v) is int for v in value)
    return type(value) in (int, float, type(None))


def _draw_array(trace: Trace, drawn: Draw, real: torch.Tensor) -> Value:
    fake = trace.graph.fake.from_tensor(real, static_shapes=True)
    node = trace.graph.add_input(pinned(drawn, "drawn"), real, fake, convert=tensor_over)
    trace.graph.inputs[-1].made = True
    trace.numbers.draws.append(drawn)
    return Array(Tensor(node, fake))


try:
    import numpy
except ImportError:  # torch works without it, and so does suture
    pass
else:
    for _name in _NAMES:
        handles(getattr(numpy.random, _name))(_handler(getattr(numpy.random, _name)))
