"""Classes from outside that each call makes anew: known by their shape, and read where they are.

Such a class, and the functions in it, have a source, as an argument has one. What would be pinned
of another class is read from there, and a guard compares the shape (`runtime/class_shapes.py`).
"""

from __future__ import annotations

from suture.compiler.core import Trace
from suture.compiler.outside.growth import is_unstable
from suture.runtime.class_shapes import ClassShape, Entry, IsNot, functions_of, is_named, shape_of
from suture.runtime.sources import Source

_MOST_SHAPES = 3  # as many a source may have shown


def is_anew(trace: Trace, value: object) -> bool:
    """Whether a class, or something in it, is another object in each call."""
    return id(value) in trace.guards.anew


def adopt(trace: Trace, cls: type, source: Source) -> bool:
    """Take a class that each call makes anew for what it is made of. False if it cannot be."""
    known = trace.guards.anew.get(id(cls))
    if known is not None:
        if known[1] is not source:
            trace.guards.add(source, "same", known[1])
        return True
    shape = shape_of(cls)
    if shape is None or trace.region.whole or is_unstable(trace, source, shape, _MOST_SHAPES):
        return False
    for i, base in enumerate(cls.__bases__):
        if base.__flags__ & (1 << 9) and not is_named(base):
            if not adopt(trace, base, source.attr("__bases__").index(i)):
                return False
    trace.guards.add(source, "truth", ClassShape(shape))
    for other, at in list(trace.guards.anew.values()):
        if isinstance(other, type):
            trace.guards.add(None, "distinct", (at, source))
    _register(trace, cls, source)
    for name, held in vars(cls).items():
        functions = functions_of(held)
        if functions is not None or name in ("__dict__", "__weakref__"):
            _register(trace, held, source.call(Entry(name)))
        for part, fn in (functions or {}).items():
            if part and fn is not None:
                _register(trace, fn, source.call(Entry(name, part)))
    return True


def _register(trace: Trace, value: object, source: Source) -> None:
    if id(value) not in trace.guards.anew:
        trace.guards.anew[id(value)] = (value, source)
        trace.outside.pins[id(value)] = source


def guard_made_classes(trace: Trace) -> None:
    """Classes that are made anew must stay others than those that were known by identity. Called
    once, at the end."""
    made = [one for one in trace.guards.anew.values() if isinstance(one[0], type)]
    if not made:
        return
    for guard in list(trace.guards.entries):
        if guard.kind in ("is", "type", "weak") and isinstance(guard.arg, type):
            for cls, source in made:
                if guard.arg.__qualname__ == cls.__qualname__:
                    trace.guards.add(source, "truth", IsNot(guard.arg))
