"""Iterators that exist already: a loop that broke goes on with one, and programs pass them in.

The first time a point sees an iterator, what is left of it is unrolled under a guard on where it
is. When the point meets it at another index (a break in every turn), it stays opaque: its
body is then compiled once and Python takes each next element.
"""

from __future__ import annotations

import itertools
from typing import Any

from suture._core import coming_of, dict_of, left_of
from suture.breaks import Break, control_flow
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import (
    Constant,
    Dict,
    DictIterator,
    Enumerate,
    Iterator,
    ListIterator,
    Object,
    RangeIterator,
    Sequence,
    SequenceIterator,
    Zip,
)
from suture.compiler.objects.lookup import holds_dict
from suture.runtime.iterators import (
    ALONE,
    OF_DICTS,
    RANGE,
    SEQUENCES,
    count_of,
    holds_its_own,
    inner_of,
    inners_of,
    number_of,
    position_of,
    rest_of_range,
    sequence_of,
    skip,
    step_of,
)
from suture.runtime.sources import Source

_FEW = 64  # an iterator with more left is never unrolled


# ---- what guards and variants read of a real iterator; nothing is consumed


class Real(Iterator):
    """A real iterator seen through `model`, an iterator of the trace, which is made, with its
    guards, when the first element is asked for: the iterator of an outer loop is not looked at by
    the regions inside. `moved` counts how far the trace has advanced it; the real one follows
    when the region ends."""

    __slots__ = ("model", "moved", "value")

    def __init__(self, value: Any, source: Source | None) -> None:
        super().__init__(source)
        self.value = value
        self.model: Any = None
        self.moved = 0

    def python_type(self) -> type:
        return type(self.value)

    def real(self) -> Any:
        return self.value

    def advance(self, trace: Trace) -> Value:
        if self.model is None:
            self.model = _look(trace, self.value, self.known_source)
        if self.model is None:
            raise Break(control_flow.UNKNOWN_ITERATOR, iterator=self.describe())
        self.touch(trace)
        self.moved += 1
        element: Value = self.model.advance(trace)
        return element

    def write_back(self, emit: Emitter, name: str) -> None:
        emit.line(f"{emit.constant(skip, 'skip')}({name}, {self.moved})")


class Count(Iterator):
    """itertools.count as a model: `number` comes next."""

    __slots__ = ("number", "step")

    def __init__(self, number: Value, step: Value) -> None:
        super().__init__(None)
        self.number = number
        self.step = step

    def advance(self, trace: Trace) -> Value:
        number = self.number
        self.number = abstract.binary(trace, "add", number, self.step)
        return number


# ---- wrapping


def wrap_iterator(trace: Trace, value: object, source: Source | None) -> Value:
    """A builtin iterator that exists."""
    source = source if source is not None else abstract.pinned(trace, value, "an iterator")
    trace.guards.add(source, "type", type(value))
    return Real(value, source)


def _look(trace: Trace, value: object, source: Source) -> Value | None:
    """The model of an iterator, or None where it cannot be or should not be unrolled."""
    try:
        left = value.__length_hint__() if hasattr(value, "__length_hint__") else 0
        token = repr(_token(value))
    except (TypeError, AttributeError, RuntimeError):  # a dict has changed below its iterator
        return None
    if left > _FEW:
        return None
    if not trace.region.history.steady(source.path(), token):
        trace.region.as_loop = True
        return None
    if type(value) in ALONE:
        if not holds_its_own(value):  # somebody else moves an iterator below this one
            return None
        # Asked first, since it is quick: another turn of the same loop mostly ends here.
        trace.guards.add(source.call(coming_of), "equals", coming_of(value))
        trace.guards.add(source.call(holds_its_own), "equals", True)
    elif type(value) in OF_DICTS:
        trace.guards.add(source.call(coming_of), "equals", coming_of(value))
    return _model(trace, value, source)


def _token(value: object) -> Any:
    """Where an iterator is, without its elements."""
    if isinstance(value, enumerate):
        return ("enumerate", count_of(value), _token(inner_of(value)))
    if isinstance(value, zip):
        return ("zip", len(value.__reduce__()) > 2, *map(_token, inners_of(value)))
    if isinstance(value, itertools.count) and number_of(value) is not None:
        return "count"  # the number is one that changes
    if type(value) not in SEQUENCES and type(value) not in OF_DICTS:
        raise TypeError
    return (type(value).__name__, position_of(value), len(sequence_of(value)))


def _model(trace: Trace, value: object, source: Source) -> Value | None:
    kind = type(value)
    if kind is RANGE:
        rest = sequence_of(value)[position_of(value) :]
        trace.guards.add(source.call(rest_of_range), "equals", rest)
        return RangeIterator(rest)
    if kind in SEQUENCES:
        at = position_of(value)
        trace.guards.add(source.call(position_of), "equals", at)
        sequence = abstract.wrap(trace, sequence_of(value), source.call(sequence_of))
        if isinstance(sequence, Constant):
            return ListIterator([abstract.known(trace, v) for v in sequence.constant()[at:]], kind)
        sequence = abstract.builtin_part(trace, sequence)
        if not isinstance(sequence, Sequence):
            return None
        return SequenceIterator(sequence, at)
    if kind in OF_DICTS:
        return _model_of_dict(trace, value, source)
    if kind is itertools.count:
        number = abstract.wrap(trace, number_of(value), source.call(number_of))
        return Count(number, abstract.wrap(trace, step_of(value), source.call(step_of)))
    if kind is enumerate:
        inner = _model(trace, inner_of(value), source.call(inner_of))
        count = abstract.wrap(trace, count_of(value), source.call(count_of))
        return None if inner is None else Enumerate(inner, count)
    if kind is zip:
        parts = source.call(inners_of)
        trace.guards.add(parts, "len", len(inners_of(value)))
        models = [_model(trace, v, parts.index(i)) for i, v in enumerate(inners_of(value))]
        return None if None in models else Zip(models, len(value.__reduce__()) > 2)  # strict
    return None


def _model_of_dict(trace: Trace, value: object, source: Source) -> Value | None:
    """The iterator goes on over the dict itself, which the program may change meanwhile."""
    left = left_of(value)
    if left is None:
        return None
    trace.guards.add(source.call(left_of), "equals", left)
    if left < 0:
        return ListIterator([], type(value))
    of = abstract.builtin_part(trace, abstract.wrap(trace, dict_of(value), source.call(dict_of)))
    if not isinstance(of, Dict) or _changed(trace, of, dict_of(value)):
        return None
    made = abstract.mapping_iterator(trace, of, OF_DICTS[type(value)])
    assert isinstance(made, DictIterator)
    made.at = len(made.keys) - left
    return made


def _changed(trace: Trace, of: Dict, real: dict[Any, Any]) -> bool:
    """Whether the program has changed a dict already, as it is or as an object's attributes."""
    for variable in trace.effects.touched.values():
        value = variable.value if isinstance(variable, Object) else None
        if variable is of or (value is not None and holds_dict(value, real)):
            return True
    return any(namespace is real for namespace, _ in trace.effects.globals.values())


def is_builtin_iterator(value: object) -> bool:
    """Whether `wrap_iterator` may know how to go on with it."""
    return type(value) in SEQUENCES or type(value) in OF_DICTS or type(value) in _OTHERS


_OTHERS = frozenset({enumerate, zip, itertools.count})
