"""What earlier calls of a point looked like, so that what changes becomes symbolic.

By source path: the number seen, the sizes seen, the object seen. The second value that differs
makes the place dynamic for good.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from suture import config


class History:
    """The memory of one point."""

    __slots__ = ("dynamic", "numbers", "sizes", "objects", "moving", "changing")

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.numbers: dict[str, Any] = {}
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.objects: dict[str, Any] = {}
        self.moving: dict[str, set[int]] = {}
        self.changing: set[str] = set()

    def dynamic_number(self, path: str, value: Any) -> bool:
        """Whether the number at `path` is to be a symbol."""
        if self.dynamic is False:
            return False
        if path in self.changing:
            return True
        before = self.numbers.setdefault(path, value)
        if before != value and config.automatic_dynamic:
            self.changing.add(path)
            return True
        return False

    def dynamic_sizes(self, path: str, value: torch.Tensor) -> set[int]:
        """Which sizes of the tensor at `path` are to be symbols."""
        marked = set(getattr(value, "_dynamo_dynamic_indices", ()))
        marked |= set(getattr(value, "_dynamo_weak_dynamic_indices", ()))
        if self.dynamic is False:
            return marked
        shape = tuple(value.shape)
        static = set(getattr(value, "_dynamo_static_indices", ()))
        if self.dynamic:
            every = set(range(len(shape))) if not isinstance(value, torch.nn.Parameter) else set()
            return (marked | every) - static
        before = self.sizes.setdefault(path, shape)
        moving = self.moving.setdefault(path, set())
        if len(before) == len(shape) and config.automatic_dynamic:
            moving |= {i for i, (a, b) in enumerate(zip(before, shape)) if a != b}
        elif len(before) != len(shape):
            self.sizes[path] = shape
            moving.clear()
        return {i for i in (marked | moving) - static if i < len(shape)}

    def same_object(self, path: str, value: Any) -> bool:
        """Whether the object at `path` has been one and the same so far."""
        known = self.objects.get(path)
        if known is None:
            try:
                self.objects[path] = weakref.ref(value)
            except TypeError:
                self.objects[path] = _Id(value)
            return True
        if known is _MANY:
            return False
        seen = known()
        if seen is value or (type(seen) is _Id and seen == value):
            return True
        self.objects[path] = _MANY
        return False


class _Id:
    """Stands for an object that takes no weak reference; never keeps it alive."""

    __slots__ = ("of",)

    def __init__(self, value: Any) -> None:
        self.of = id(value)

    def __call__(self) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return id(other) == self.of

    def __hash__(self) -> int:
        return self.of


_MANY = object()
