"""The part of itertools that combines and groups."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from suture.rules.substitutes import substitute

_MISSING = object()


@substitute(itertools.product)
def product(*iterables: Iterable[Any], repeat: int = 1) -> Iterator[tuple[Any, ...]]:
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    pools = [tuple(each) for each in iterables] * repeat if repeat else []
    return _products(pools)


def _products(pools: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for pool in pools:
        if not pool:
            return
    indices = [0] * len(pools)
    while True:
        yield tuple([pool[index] for pool, index in zip(pools, indices)])
        turning = len(pools) - 1
        while turning >= 0 and indices[turning] == len(pools[turning]) - 1:
            indices[turning] = 0
            turning -= 1
        if turning < 0:
            return
        indices[turning] += 1


def _length(r: int) -> int:
    r = operator.index(r)
    if r < 0:
        raise ValueError("r must be non-negative")
    return r


@substitute(itertools.combinations)
def combinations(iterable: Iterable[Any], r: int) -> Iterator[tuple[Any, ...]]:
    return _combinations(tuple(iterable), _length(r))


def _combinations(pool: tuple[Any, ...], r: int) -> Iterator[tuple[Any, ...]]:
    if r > len(pool):
        return
    chosen = list(range(r))
    while True:
        yield tuple([pool[index] for index in chosen])
        moving = r - 1
        while moving >= 0 and chosen[moving] == len(pool) - r + moving:
            moving -= 1
        if moving < 0:
            return
        first = chosen[moving] + 1
        for offset in range(r - moving):
            chosen[moving + offset] = first + offset


@substitute(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable: Iterable[Any], r: int) -> Iterator[tuple[Any, ...]]:
    return _combinations_again(tuple(iterable), _length(r))


def _combinations_again(pool: tuple[Any, ...], r: int) -> Iterator[tuple[Any, ...]]:
    if r and not pool:
        return
    chosen = [0] * r
    while True:
        yield tuple([pool[index] for index in chosen])
        moving = r - 1
        while moving >= 0 and chosen[moving] == len(pool) - 1:
            moving -= 1
        if moving < 0:
            return
        chosen[moving:] = [chosen[moving] + 1] * (r - moving)


@substitute(itertools.permutations)
def permutations(iterable: Iterable[Any], r: int | None = None) -> Iterator[tuple[Any, ...]]:
    pool = tuple(iterable)
    if r is not None and not isinstance(r, int):
        raise TypeError("Expected int as r")
    return _permutations(pool, len(pool) if r is None else _length(r))


def _permutations(pool: tuple[Any, ...], r: int) -> Iterator[tuple[Any, ...]]:
    """`order` holds indices; `left[i]` is how many choices index i has not tried yet."""
    if r > len(pool):
        return
    order = list(range(len(pool)))
    left = [len(pool) - index for index in range(r)]
    while True:
        yield tuple([pool[index] for index in order[:r]])
        index = r - 1
        while index >= 0:
            left[index] -= 1
            if left[index]:
                other = len(pool) - left[index]
                order[index], order[other] = order[other], order[index]
                break
            order.append(order.pop(index))
            left[index] = len(pool) - index
            index -= 1
        if index < 0:
            return


@substitute(itertools.groupby)
def groupby(
    iterable: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[tuple[Any, Iterator[Any]]]:
    return _grouping(iter(iterable), key)


def _grouping(
    iterator: Iterator[Any], key: Callable[[Any], Any] | None
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Groups share the index in `iterator`: asking for the next group ends the one before."""
    current: Any = _MISSING
    item: Any = None
    turn = 0

    def step() -> bool:
        nonlocal current, item
        item = next(iterator, _MISSING)
        if item is _MISSING:
            return False
        current = item if key is None else key(item)
        return True

    def group(wanted: Any, mine: int) -> Iterator[Any]:
        while mine == turn and item is not _MISSING and current == wanted:
            yield item
            if mine != turn or not step():
                return

    if not step():
        return
    while True:
        turn += 1
        target = current
        yield target, group(target, turn)
        while current == target:
            if item is _MISSING or not step():
                return


if hasattr(itertools, "batched"):

    @substitute(itertools.batched)
    def batched(
        iterable: Iterable[Any], n: int, *, strict: bool = False
    ) -> Iterator[tuple[Any, ...]]:
        if n < 1:
            raise ValueError("n must be at least one")
        return _batches(iter(iterable), n, strict)


def _batches(iterator: Iterator[Any], n: int, strict: bool) -> Iterator[tuple[Any, ...]]:
    while True:
        batch: list[Any] = []
        while len(batch) < n:
            item = next(iterator, _MISSING)
            if item is _MISSING:
                break
            batch.append(item)
        if strict and batch and len(batch) < n:
            raise ValueError("batched(): incomplete batch")
        if batch:
            yield tuple(batch)
        if len(batch) < n:
            return
