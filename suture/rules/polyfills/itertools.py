"""itertools, as generators. Arguments are checked when the function is called, not at the first
item, as the originals do: hence a plain function in front of most generators."""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from suture.rules.substitutes import substitute

_MISSING = object()


@substitute(itertools.chain)
def chain(*iterables: Iterable[Any]) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


@substitute(itertools.chain.from_iterable)
def chain_from_iterable(iterable: Iterable[Iterable[Any]], /) -> Iterator[Any]:
    return _chained(iter(iterable))


def _chained(iterables: Iterator[Iterable[Any]]) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


@substitute(itertools.count)
def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
    for value in (start, step):
        kind = type(value)
        if not isinstance(value, complex) and not any(
            hasattr(kind, name) for name in ("__index__", "__int__", "__float__")
        ):
            raise TypeError("a number is required")
    if isinstance(start, bool) and type(step) is int and step == 1:
        start = int(start)
    return _counting(start, step)


def _counting(value: Any, step: Any) -> Iterator[Any]:
    """`value` is what comes next, also while it waits: `Generator.rebuild` reads it."""
    while True:
        given, value = value, value + step
        yield given


@substitute(itertools.cycle)
def cycle(iterable: Iterable[Any], /) -> Iterator[Any]:
    return _cycling(iter(iterable))


def _cycling(iterator: Iterator[Any]) -> Iterator[Any]:
    seen = []
    for item in iterator:
        seen.append(item)
        yield item
    while seen:
        yield from seen


@substitute(itertools.repeat)
def repeat(object: Any, times: Any = _MISSING) -> Iterator[Any]:
    left = -1 if times is _MISSING else max(operator.index(times), 0)
    return _repeating(object, left)


def _repeating(item: Any, left: int) -> Iterator[Any]:
    """`left` below zero means for ever; it is what is left also while this waits."""
    while left != 0:
        left = left - 1 if left > 0 else left
        yield item


@substitute(itertools.accumulate)
def accumulate(
    iterable: Iterable[Any], func: Callable[[Any, Any], Any] | None = None, *, initial: Any = None
) -> Iterator[Any]:
    return _accumulating(iter(iterable), operator.add if func is None else func, initial)


def _accumulating(
    iterator: Iterator[Any], func: Callable[[Any, Any], Any], initial: Any
) -> Iterator[Any]:
    total = initial
    if initial is None:
        total = next(iterator, _MISSING)
        if total is _MISSING:
            return
    yield total
    for item in iterator:
        total = func(total, item)
        yield total


@substitute(itertools.compress)
def compress(data: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    return _compressing(iter(data), iter(selectors))


def _compressing(data: Iterator[Any], selectors: Iterator[Any]) -> Iterator[Any]:
    for item in data:
        selected = next(selectors, _MISSING)
        if selected is _MISSING:
            return
        if selected:
            yield item


@substitute(itertools.dropwhile)
def dropwhile(predicate: Callable[[Any], Any], iterable: Iterable[Any], /) -> Iterator[Any]:
    return _dropping(predicate, iter(iterable))


def _dropping(predicate: Callable[[Any], Any], iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        if not predicate(item):
            yield item
            break
    yield from iterator


@substitute(itertools.takewhile)
def takewhile(predicate: Callable[[Any], Any], iterable: Iterable[Any], /) -> Iterator[Any]:
    return _taking(predicate, iter(iterable))


def _taking(predicate: Callable[[Any], Any], iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        if not predicate(item):
            return
        yield item


@substitute(itertools.filterfalse)
def filterfalse(function: Callable[[Any], Any] | None, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _rejecting(function, iter(iterable))


def _rejecting(function: Callable[[Any], Any] | None, iterator: Iterator[Any]) -> Iterator[Any]:
    for item in iterator:
        if not (item if function is None else function(item)):
            yield item


@substitute(itertools.starmap)
def starmap(function: Callable[..., Any], iterable: Iterable[Any], /) -> Iterator[Any]:
    return _spreading(function, iter(iterable))


def _spreading(function: Callable[..., Any], iterator: Iterator[Any]) -> Iterator[Any]:
    for arguments in iterator:
        yield function(*arguments)


@substitute(itertools.pairwise)
def pairwise(iterable: Iterable[Any], /) -> Iterator[tuple[Any, Any]]:
    return _pairing(iter(iterable))


def _pairing(iterator: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    before = next(iterator, _MISSING)
    if before is _MISSING:
        return
    for item in iterator:
        yield before, item
        before = item


@substitute(itertools.islice)
def islice(iterable: Iterable[Any], /, *bounds: int | None) -> Iterator[Any]:
    if not 1 <= len(bounds) <= 3:
        raise TypeError(f"islice expected 2 to 4 arguments, got {len(bounds) + 1}")
    start, stop, step = (
        (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    )
    if not _is_bound(stop):
        raise ValueError(
            "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."
        )
    if not _is_bound(start):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if not _is_bound(step) or step == 0:
        raise ValueError("Step for islice() must be a positive integer or None.")
    return _slicing(iter(iterable), start or 0, stop, 1 if step is None else step)


def _is_bound(value: Any) -> bool:
    return value is None or (hasattr(value, "__index__") and 0 <= value <= sys.maxsize)


def _slicing(iterator: Iterator[Any], start: int, stop: int | None, step: int) -> Iterator[Any]:
    """Takes no item after the last one that is wanted; skips up to `stop` before it ends."""
    index = 0
    wanted = start
    while stop is None or index < max(start, stop):
        item = next(iterator, _MISSING)
        if item is _MISSING:
            return
        if index == wanted and (stop is None or index < stop):
            yield item
            wanted += step
        index += 1


@substitute(itertools.zip_longest)
def zip_longest(*iterables: Iterable[Any], fillvalue: Any = None) -> Iterator[tuple[Any, ...]]:
    return _zipping([iter(each) for each in iterables], fillvalue)


def _zipping(iterators: list[Iterator[Any] | None], fill: Any) -> Iterator[tuple[Any, ...]]:
    active = len(iterators)
    while active:
        items = []
        for index, iterator in enumerate(iterators):
            item = _MISSING if iterator is None else next(iterator, _MISSING)
            if item is _MISSING:
                if iterator is not None:
                    iterators[index] = None
                    active -= 1
                    if not active:
                        return
                item = fill
            items.append(item)
        yield tuple(items)


@substitute(itertools.tee)
def tee(iterable: Iterable[Any], n: int = 2, /) -> tuple[Iterator[Any], ...]:
    if n < 0:
        raise ValueError("n must be >= 0")
    iterator = iter(iterable)
    head: list[Any] = []
    return tuple(_teeing(iterator, head) for _ in range(n))


def _teeing(iterator: Iterator[Any], link: list[Any]) -> Iterator[Any]:
    """A link is [] until the item after it was taken, then [item, next link]."""
    while True:
        if not link:
            item = next(iterator, _MISSING)
            if item is _MISSING:
                return
            link += (item, [])
        yield link[0]
        link = link[1]
