"""heapq on lists: the heaps come out item by item as those of the original."""

from __future__ import annotations

import heapq
from typing import Any

from suture.rules.substitutes import substitute


def _toward_root(heap: list[Any], top: int, index: int) -> None:
    """Let the item at `index` rise, but not above `top`, while it is smaller than its parent."""
    item = heap[index]
    while index > top:
        parent = (index - 1) // 2
        if not item < heap[parent]:
            break
        heap[index] = heap[parent]
        index = parent
    heap[index] = item


def _toward_leaves(heap: list[Any], top: int) -> None:
    """Fill the hole at `top` with smaller children down to a leaf, then let the item rise.

    This takes fewer comparisons than stopping on the way down, and is what heapq does.
    """
    item = heap[top]
    index = top
    child = 2 * index + 1
    while child < len(heap):
        right = child + 1
        if right < len(heap) and not heap[child] < heap[right]:
            child = right
        heap[index] = heap[child]
        index = child
        child = 2 * index + 1
    heap[index] = item
    _toward_root(heap, top, index)


@substitute(heapq.heappush)
def heappush(heap: list[Any], item: Any, /) -> None:
    _check(heap)
    heap.append(item)
    _toward_root(heap, 0, len(heap) - 1)


@substitute(heapq.heappop)
def heappop(heap: list[Any], /) -> Any:
    _check(heap)
    last = _pop_last(heap)
    if not heap:
        return last
    smallest = heap[0]
    heap[0] = last
    _toward_leaves(heap, 0)
    return smallest


@substitute(heapq.heapreplace)
def heapreplace(heap: list[Any], item: Any, /) -> Any:
    _check(heap)
    if not heap:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    _toward_leaves(heap, 0)
    return smallest


@substitute(heapq.heappushpop)
def heappushpop(heap: list[Any], item: Any, /) -> Any:
    _check(heap)
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _toward_leaves(heap, 0)
    return item


@substitute(heapq.heapify)
def heapify(heap: list[Any], /) -> None:
    _check(heap)
    for index in range(len(heap) // 2 - 1, -1, -1):
        _toward_leaves(heap, index)


def _check(heap: Any) -> None:
    if not isinstance(heap, list):
        raise TypeError(f"heap argument must be a list, not {type(heap).__name__}")


def _pop_last(heap: list[Any]) -> Any:
    if not heap:
        raise IndexError("index out of range")
    return heap.pop()
