"""Builtins that go over an iterable, as loops; notes of exceptions."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from suture.bytecode.language import MAP_TAKES_STRICT
from suture.rules.substitutes import substitute

_MISSING = object()


@substitute(builtins.any)
def any(iterable: Iterable[Any], /) -> bool:
    for item in iterable:  # noqa: SIM110  (this is what any is)
        if item:
            return True
    return False


@substitute(builtins.all)
def all(iterable: Iterable[Any], /) -> bool:
    for item in iterable:  # noqa: SIM110  (this is what all is)
        if not item:
            return False
    return True


# From Python 3.12 on sum() carries along what adding floats loses.
_CARRIES = builtins.sum([0.1] * 10) == 1.0
# From Python 3.14 on also where integers are added to floats, and for complex numbers.
_CARRIES_ALL = builtins.sum([0.1] * 10, start=0j) == 1.0


@substitute(builtins.sum)
def sum(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    """Left to right."""
    if isinstance(start, str):
        raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
    if isinstance(start, (bytes, bytearray)):
        kind = "bytes" if isinstance(start, bytes) else "bytearray"
        raise TypeError(f"sum() can't sum {kind} [use b''.join(seq) instead]")
    total, lost, rest = start, 0.0, iter(iterable)
    if _CARRIES_ALL and type(total) is complex:
        return _complex_sum(total, rest)
    carries = _CARRIES and type(total) in (int, float)
    for item in rest:
        if carries and type(total) is float:
            if type(item) is float:
                total, lost = _carried(total, lost, item)
                continue
            if _CARRIES_ALL and isinstance(item, int):
                total, lost = _carried(total, lost, 0.0 + item)
                continue
            if not isinstance(item, int):
                total, carries = _with_lost(total, lost) + item, False
                if _CARRIES_ALL and type(total) is complex:
                    return _complex_sum(total, rest)
                continue
        total = total + item
        if carries and type(total) not in (int, float):
            carries = False
            if _CARRIES_ALL and type(total) is complex:
                return _complex_sum(total, rest)
    return _with_lost(total, lost) if carries else total


def _complex_sum(start: complex, rest: Iterator[Any]) -> Any:
    """The rest of a sum that is a complex number by now, as Python 3.14 adds it."""
    real, imag, lost, lost_imag = start.real, start.imag, 0.0, 0.0
    for item in rest:
        if type(item) is complex:
            real, lost = _carried(real, lost, item.real)
            imag, lost_imag = _carried(imag, lost_imag, item.imag)
        elif isinstance(item, int):
            real, lost = _carried(real, lost, 0.0 + item)
        elif isinstance(item, float):  # of a derived class too, whose own addition is not asked
            plain = item if type(item) is float else float.__pos__(item)
            real, lost = _carried(real, lost, plain)
        else:
            total = complex(_with_lost(real, lost), _with_lost(imag, lost_imag)) + item
            for more in rest:
                total = total + more
            return total
    return complex(_with_lost(real, lost), _with_lost(imag, lost_imag))


def _carried(total: float, lost: float, item: float) -> tuple[float, float]:
    """The sum, and what rounding has lost so far."""
    new = total + item
    larger, smaller = (total, item) if abs(total) >= abs(item) else (item, total)
    return new, lost + ((larger - new) + smaller)


def _with_lost(total: Any, lost: float) -> Any:
    return total + lost if lost and math.isfinite(lost) else total


# What max() says of nothing, in the words of this Python.
try:
    builtins.max(())
except ValueError as error:
    _EMPTY = str(error).replace("max", "{}", 1)


def _extreme(
    name: str,
    better: Callable[[Any, Any], bool],
    args: tuple[Any, ...],
    key: Callable[[Any], Any] | None,
    default: Any,
) -> Any:
    if not args:
        raise TypeError(f"{name} expected at least 1 argument, got 0")
    if len(args) > 1 and default is not _MISSING:
        raise TypeError(f"Cannot specify a default for {name}() with multiple positional arguments")
    iterator = iter(args if len(args) > 1 else args[0])
    best = next(iterator, _MISSING)
    if best is _MISSING:
        if default is _MISSING:
            raise ValueError(_EMPTY.format(name))
        return default
    if key is None:
        for item in iterator:
            if better(item, best):
                best = item
        return best
    best_key = key(best)
    for item in iterator:
        item_key = key(item)
        if better(item_key, best_key):
            best, best_key = item, item_key
    return best


@substitute(builtins.min)
def min(*args: Any, key: Callable[[Any], Any] | None = None, default: Any = _MISSING) -> Any:
    return _extreme("min", lambda item, best: item < best, args, key, default)


@substitute(builtins.max)
def max(*args: Any, key: Callable[[Any], Any] | None = None, default: Any = _MISSING) -> Any:
    return _extreme("max", lambda item, best: item > best, args, key, default)


@substitute(builtins.sorted)
def sorted(
    iterable: Iterable[Any], /, *, key: Callable[[Any], Any] | None = None, reverse: bool = False
) -> list[Any]:
    """A merge of halves: stable, and calls `<` only, as the original does."""
    items = [(item if key is None else key(item), item) for item in iterable]
    if reverse:
        items = items[::-1]
    items = _merge_sorted(items)
    if reverse:
        items = items[::-1]
    return [item for _, item in items]


def _merge_sorted(items: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    width = 1
    while width < len(items):
        merged: list[tuple[Any, Any]] = []
        for start in range(0, len(items), 2 * width):
            middle = start + width
            merged += _merge(items[start:middle], items[middle : middle + width])
        items = merged
        width *= 2
    return items


def _merge(left: list[tuple[Any, Any]], right: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if right[j][0] < left[i][0]:
            merged.append(right[j])
            j += 1
        else:
            merged.append(left[i])
            i += 1
    return merged + left[i:] + right[j:]


@substitute(builtins.enumerate)
def enumerate(iterable: Iterable[Any], start: int = 0) -> Iterator[tuple[int, Any]]:
    return _enumerate(iter(iterable), start)


def _enumerate(iterator: Iterator[Any], number: int) -> Iterator[tuple[int, Any]]:
    for item in iterator:
        yield number, item
        number += 1


def map(function: Callable[..., Any], iterable: Iterable[Any], /, *more: Iterable[Any]) -> Any:
    if not more:
        return _map_one(function, iter(iterable))
    return _map_many(function, _zip([iter(each) for each in (iterable, *more)]))


def _map_with_strict(
    function: Callable[..., Any],
    iterable: Iterable[Any],
    /,
    *more: Iterable[Any],
    strict: bool = False,
) -> Any:
    if not strict or not more:
        return map(function, iterable, *more)
    return _map_many(function, _zip_strict([iter(each) for each in (iterable, *more)], "map"))


substitute(builtins.map)(_map_with_strict if MAP_TAKES_STRICT else map)


def _map_one(function: Callable[..., Any], iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        yield function(item)


def _map_many(function: Callable[..., Any], rows: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    for items in rows:
        yield function(*items)


@substitute(builtins.filter)
def filter(function: Callable[[Any], Any] | None, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _filter(function, iter(iterable))


def _filter(function: Callable[[Any], Any] | None, iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        if item if function is None else function(item):
            yield item


@substitute(builtins.zip)
def zip(*iterables: Iterable[Any], strict: bool = False) -> Iterator[tuple[Any, ...]]:
    iterators = [iter(each) for each in iterables]
    return _zip_strict(iterators, "zip") if strict else _zip(iterators)


def _zip(iterators: list[Iterator[Any]]) -> Iterator[tuple[Any, ...]]:
    while iterators:
        items = []
        for iterator in iterators:
            item = next(iterator, _MISSING)
            if item is _MISSING:
                return
            items.append(item)
        yield tuple(items)


def _zip_strict(iterators: list[Iterator[Any]], name: str) -> Iterator[tuple[Any, ...]]:
    while iterators:
        items: list[Any] = []
        for iterator in iterators:
            item = next(iterator, _MISSING)
            if item is _MISSING:
                _check_all_ended(iterators, len(items), name)
                return
            items.append(item)
        yield tuple(items)


def _check_all_ended(iterators: list[Iterator[Any]], ended: int, name: str) -> None:
    """Raise as zip(strict=True), or map, does when the iterator at index `ended` was the first to
    end."""
    if ended:
        others = "argument 1" if ended == 1 else f"arguments 1-{ended}"
        raise ValueError(f"{name}() argument {ended + 1} is shorter than {others}")
    for index, iterator in _enumerate(iter(iterators), 0):
        if index and next(iterator, _MISSING) is not _MISSING:
            others = "argument 1" if index == 1 else f"arguments 1-{index}"
            raise ValueError(f"{name}() argument {index + 1} is longer than {others}")


@substitute(builtins.reversed)
def reversed(sequence: Sequence[Any], /) -> Iterator[Any]:
    method: Any = getattr(type(sequence), "__reversed__", _MISSING)
    if method is None:
        raise TypeError(f"{type(sequence).__name__!r} object is not reversible")
    if method is not _MISSING:
        return method(sequence)
    if not hasattr(type(sequence), "__getitem__") or not hasattr(type(sequence), "__len__"):
        raise TypeError(f"{type(sequence).__name__!r} object is not reversible")
    return _backwards(sequence, len(sequence) - 1)


def _backwards(sequence: Sequence[Any], index: int) -> Iterator[Any]:
    while index >= 0:
        try:
            item = sequence[index]
        except (IndexError, StopIteration):
            return
        yield item
        index -= 1


def _note_text() -> str:
    """What this Python says of a note that is no string, with {} for the type."""
    try:
        BaseException().add_note(0)  # type: ignore[arg-type]
    except TypeError as error:
        return str(error).replace("int", "{}")
    raise AssertionError("a number is no note")


_NOTE_TEXT = _note_text()


@substitute(BaseException.add_note)
def add_note(self: Any, note: Any) -> None:
    if not isinstance(note, str):
        raise TypeError(_NOTE_TEXT.format(type(note).__name__))
    notes = getattr(self, "__notes__", None)
    if notes is None and not hasattr(self, "__notes__"):
        notes = self.__notes__ = []
    if not isinstance(notes, list):
        raise TypeError("Cannot add note: __notes__ is not a list")
    list.append(notes, note)
