"""Iterators that exist already: a loop that broke goes on with one, and programs pass them in.

The first time a point sees an iterator, what is left of it is unrolled under a guard on where it
stands. When the point meets it at another place (a break in every turn), it stays opaque: its
body is then compiled once and Python asks for each next element.
"""

from __future__ import annotations

from typing import Any

from suture.variables import (
    Constant,
    Enumerate,
    Iterator,
    ListIterator,
    RangeIterator,
    SequenceIterator,
    Zip,
)
from suture.variables.objects import Opaque

_FEW = 64  # an iterator with more left is never unrolled


# ---- what guards and variants read of a real iterator; nothing is consumed


def sequence_of(iterator: Any) -> Any:
    """The list, tuple, range or str an iterator goes over; of others, a list of what is left."""
    return iterator.__reduce__()[1][0]


def position_of(iterator: Any) -> Any:
    """The index a sequence iterator stands at."""
    parts = iterator.__reduce__()
    return parts[2] if len(parts) > 2 else 0


def count_of(iterator: Any) -> Any:
    """The number an enumerate gives next."""
    return iterator.__reduce__()[1][1]


def inner_of(iterator: Any) -> Any:
    """The iterator below an enumerate."""
    return iterator.__reduce__()[1][0]


def inners_of(iterator: Any) -> Any:
    """The iterators below a zip."""
    return iterator.__reduce__()[1]


def _skip(iterator: Any, count: int) -> None:
    """Advance a real iterator by as much as the trace did."""
    for _ in range(count):
        next(iterator, None)


class Real(Iterator):
    """A real iterator seen through `model`, an iterator of the trace. `moved` counts how far the
    trace has advanced it; the real one follows when the region ends."""

    __slots__ = ("cls", "model", "moved")

    def __init__(self, model: Any, source: Any, cls: type) -> None:
        super().__init__(source)
        self.model = model
        self.moved = 0
        self.cls = cls

    def python_type(self) -> type:
        return self.cls

    def advance(self, tx: Any) -> Any:
        self.touch(tx)
        self.moved += 1
        return self.model.advance(tx)

    def write_back(self, emit: Any, name: str) -> None:
        emit.line(f"{emit.constant(_skip, 'skip')}({name}, {self.moved})")


# ---- wrapping


def wrap_iterator(tx: Any, value: Any, source: Any) -> Any:
    """A builtin iterator as one of the trace, or opaque where that cannot be or should not be."""
    source = source if source is not None else tx.pinned(value, "an iterator")
    try:
        left = value.__length_hint__() if hasattr(value, "__length_hint__") else 0
        token = repr(_token(value))
    except (TypeError, AttributeError):
        return Opaque(value, source)
    if left > _FEW or not tx.history.steady(source.path(), token):
        return Opaque(value, source)
    tx.guards.add(source, "type", type(value))
    model = _model(tx, value, source)
    return Opaque(value, source) if model is None else Real(model, source, type(value))


def _token(value: Any) -> Any:
    """Where an iterator stands, without its elements."""
    if isinstance(value, enumerate):
        return ("enumerate", count_of(value), _token(inner_of(value)))
    if isinstance(value, zip):
        return ("zip", *map(_token, inners_of(value)))
    if type(value) not in _SEQUENCES and type(value) not in _SNAPSHOTS:
        raise TypeError
    return (type(value).__name__, position_of(value), len(sequence_of(value)))


def _model(tx: Any, value: Any, source: Any) -> Any:
    kind = type(value)
    if kind is _RANGE:
        rest = sequence_of(value)[position_of(value) :]
        tx.guards.add(source.call(_rest), "equals", rest)
        return RangeIterator(rest)
    if kind in _SEQUENCES:
        at = position_of(value)
        tx.guards.add(source.call(position_of), "equals", at)
        sequence = tx.wrap(sequence_of(value), source.call(sequence_of))
        if isinstance(sequence, Constant):
            return ListIterator([tx.known(v) for v in sequence.constant()[at:]], kind)
        return SequenceIterator(sequence, at)
    if kind in _SNAPSHOTS:
        items = tx.wrap(sequence_of(value), source.call(sequence_of))
        return ListIterator(list(items.unpacked(tx)), kind)
    if kind is enumerate:
        inner = _model(tx, inner_of(value), source.call(inner_of))
        count = tx.wrap(count_of(value), source.call(count_of))
        return None if inner is None else Enumerate(inner, count)
    if kind is zip:
        parts = source.call(inners_of)
        tx.guards.add(parts, "len", len(inners_of(value)))
        models = [_model(tx, v, parts.index(i)) for i, v in enumerate(inners_of(value))]
        return None if None in models else Zip(models)
    return None


def _rest(iterator: Any) -> range:
    """What is left of a range iterator."""
    rest = sequence_of(iterator)[position_of(iterator) :]
    assert isinstance(rest, range)
    return rest


_RANGE = type(iter(range(0)))
_SEQUENCES = frozenset({type(iter([])), type(iter(())), _RANGE, type(iter(""))})
_SNAPSHOTS = frozenset({type(iter({}.keys())), type(iter({}.values())), type(iter({}.items()))})


def is_builtin_iterator(value: Any) -> bool:
    """Whether `wrap_iterator` may know how to go on with it."""
    return type(value) in _SEQUENCES or type(value) in _SNAPSHOTS or type(value) in (enumerate, zip)

