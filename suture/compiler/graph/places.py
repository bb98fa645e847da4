"""Where the elements of a tensor lie in its memory, and whether two tensors have one in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

_MOST = 10_000  # steps of a search


@dataclass(frozen=True, slots=True)
class Places:
    """The first element of a tensor, and the number and the distance of elements in each dimension;
    in bytes, as is `size`, that of one element."""

    first: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    size: int

    def is_expanded(self) -> bool:
        """Whether some dimension has all its elements at one place."""
        if 0 in self.sizes:
            return False
        return any(stride == 0 and size > 1 for size, stride in zip(self.sizes, self.strides))

    def steps(self) -> list[tuple[int, int]]:
        """(distance, how often at most) of what leads from the first byte to each of the others."""
        inside = [(1, self.size - 1)] if self.size > 1 else []
        dims = zip(self.strides, self.sizes)
        return inside + [(stride, size - 1) for stride, size in dims if stride and size > 1]


def places_of(tensor: Any) -> Places | None:
    """Of a fake tensor; of sizes that are symbols, those of this call. None if one is not known."""
    numbers = (tensor.storage_offset(), *tensor.shape, *tensor.stride())
    known = [n.node.hint if isinstance(n, torch.SymInt) else n for n in numbers]
    if any(type(n) is not int for n in known):
        return None
    size, dims = tensor.element_size(), tensor.dim()
    strides = tuple(n * size for n in known[1 + dims :])
    return Places(known[0] * size, tuple(known[1 : 1 + dims]), strides, size)


def meet(left: Places, right: Places) -> bool:
    """Whether two tensors of one memory have a byte in common. Where that takes too long to find
    out, they are said to."""
    if 0 in left.sizes or 0 in right.sizes:
        return False
    # left.first + a sum of steps = right.first + a sum of others: with those counted from the last
    # byte of `right` down, two sums of steps that give the distance together
    bounds: dict[int, int] = {}
    for step, most in (*left.steps(), *right.steps()):
        bounds[step] = bounds.get(step, 0) + most
    last = right.first + sum(step * most for step, most in right.steps())
    coins = sorted(bounds.items(), reverse=True)
    left_over = [0] * (len(coins) + 1)
    divisors = [0] * (len(coins) + 1)
    for at in reversed(range(len(coins))):
        step, most = coins[at]
        left_over[at] = left_over[at + 1] + step * most
        divisors[at] = math.gcd(divisors[at + 1], step)
    waiting, count = [(0, last - left.first)], 0
    while waiting:
        at, rest = waiting.pop()
        if rest == 0:
            return True
        count += 1
        if count > _MOST:
            return True
        if at == len(coins) or not 0 < rest <= left_over[at] or rest % divisors[at]:
            continue
        step, most = coins[at]
        fewest = max(0, -(-(rest - left_over[at + 1]) // step))
        for times in range(fewest, min(most, rest // step) + 1):
            waiting.append((at + 1, rest - times * step))
    return False
