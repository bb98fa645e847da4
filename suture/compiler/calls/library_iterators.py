"""The iterators of itertools: traced as generators, made by Python where they must exist."""

from __future__ import annotations

import itertools
from typing import Any

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Generator, Tuple


def is_of_itertools(real: object) -> bool:
    """Whether a callable makes iterators of itertools: a class of it, or something of one."""
    return real is itertools.tee or _class_of(real) is not None


def _class_of(real: object) -> Any:
    kind = real if isinstance(real, type) else getattr(real, "__self__", None)
    return kind if isinstance(kind, type) and kind.__module__ == "itertools" else None


_EAGER = (
    itertools.product,
    itertools.permutations,
    itertools.combinations,
    itertools.combinations_with_replacement,
)


def call_itertools(
    trace: Trace, real: Any, substitute: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Call what stands for `real`, unless an earlier try found that Python must make it."""
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    copied = real is itertools.tee and args and hasattr(args[0].python_type(), "__copy__")
    if copied or position in trace.region.plan.by_python:
        raise Break(calls.C_FUNCTION, function=f"itertools.{real.__name__}")
    saved, trace.handling.making = trace.handling.making, trace.handling.making or position
    try:
        made = abstract.call(trace, substitute, args, kwargs)
    finally:
        trace.handling.making = saved
    if isinstance(made, Generator):
        # What has taken its elements from other iterators already cannot be made again.
        taken = real in _EAGER and any(hasattr(a.python_type(), "__next__") for a in args)
        made.origin = (_class_of(real), None if taken else real, list(args), dict(kwargs))
    elif isinstance(made, Tuple):
        for part in made.items:
            assert isinstance(part, Generator)
            part.cls = type(itertools.tee(())[0])
    return made
