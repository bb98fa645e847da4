"""What earlier calls of a point looked like, so that what changes becomes symbolic.

By source path: the number seen, the sizes seen, the object seen. The second value that differs
makes the place dynamic for good.
"""

from __future__ import annotations

import re
import weakref
from typing import Any

import torch

from suture import config


class History:
    """The memory of one point."""

    __slots__ = (
        "becomes",
        "bound",
        "by_python",
        "changing",
        "constant",
        "dynamic",
        "floats_are_data",
        "forms",
        "from_zero",
        "moving",
        "numbers",
        "objects",
        "places",
        "raised",
        "ranks",
        "resumed",
        "sizes",
        "strides",
        "turned",
        "uncompiled",
        "without_data",
    )  # fmt: skip

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.bound: Any = None  # gives the one module that this is compiled for, if there is one
        self.numbers: dict[str, Any] = {}
        self.sizes: dict[tuple[str, int], tuple[int, ...]] = {}
        self.strides: dict[tuple[str, int], Any] = {}
        self.objects: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.moving: dict[tuple[str, int], set[int]] = {}
        self.changing: set[str] = set()
        self.raised: set[Any] = set()  # branches that did not go as expected
        self.turned: set[Any] = set()  # branches on what modules keep that went both ways
        self.ranks: dict[str, set[int]] = {}
        self.floats_are_data = False  # the backend has refused a float
        self.from_zero = False  # something grows that is of size 0 or 1 now
        self.without_data = False  # the backend has refused numbers that come from tensors
        self.uncompiled = False  # the backend has failed on the graph, which runs as it is
        self.becomes = False  # a lazy module is to see its first input
        self.by_python: set[Any] = set()  # calls (code, index) that Python runs
        self.constant: set[str] = set()  # numbers that the backend cannot take as symbols
        self.resumed = False  # the point stands inside of a function
        self.forms: dict[str, set[Any]] = {}

    def dynamic_number(self, path: str, value: Any, fixed: bool = False) -> bool:
        """Whether the number at `path` is to be a symbol. `fixed`: it belongs to an object that
        stays the same, such as a module's stride: not before it has changed."""
        if path in self.constant:
            return False
        if config.specialize_float if type(value) is float else config.specialize_int:
            return False
        if self._listed(path):
            return True
        if self.dynamic is False:
            return False
        if path in self.changing or ((self.dynamic or not config.assume_static) and not fixed):
            return True
        before = self.numbers.setdefault(path, value)
        if config.automatic_dynamic and (before != value or type(before) is not type(value)):
            self.changing.add(path)
            return True
        return False

    def turn(self, numbers: dict[str, Any]) -> None:
        """The numbers that the turns of a loop change, by path, at a point inside it: as soon as
        one of them is seen to change, all of them are symbols."""
        if config.automatic_dynamic and any(
            path in self.numbers and self.numbers[path] != value for path, value in numbers.items()
        ):
            self.changing.update(numbers)
        for path, value in numbers.items():
            self.numbers.setdefault(path, value)

    def dynamic_sizes(self, path: str, value: torch.Tensor) -> set[int]:
        """Which sizes of the tensor at `path` are to be symbols, marks aside."""
        shape = tuple(value.shape)
        every = set(range(len(shape)))
        if self._listed(path):
            return every
        if self.dynamic is False or isinstance(value, torch.nn.Parameter):
            return set()
        if self.dynamic or not config.assume_static:
            return every
        key = (path, len(shape))
        ranks = self.ranks.setdefault(path, set())
        ranks.add(len(shape))
        before = self.sizes.setdefault(key, shape)
        moving = self.moving.setdefault(key, set())
        if config.automatic_dynamic and len(ranks) > 1:
            moving |= every
        elif config.automatic_dynamic:
            moving |= {i for i, (a, b) in enumerate(zip(before, shape)) if a != b}
        return set(moving)

    def dynamic_strides(self, path: str, value: torch.Tensor) -> bool:
        """Whether the strides of the tensor at `path`, whose sizes stay, are to be symbols: the
        order of its dimensions in memory has stayed while the distances changed."""
        if not self._automatic() or isinstance(value, torch.nn.Parameter):
            return False
        strides = value.stride()
        before = self.strides.setdefault((path, len(strides)), strides)
        if before is not _MANY and before != strides and _order(before) == _order(strides):
            before = self.strides[path, len(strides)] = _MANY
        return before is _MANY

    def writes_tensor(self, path: str, shape: list[int | None]) -> bool:
        """A region writes a tensor of this shape (None: a symbol) where it read one. True if a
        size becomes a symbol by that."""
        before = self.sizes.get((path, len(shape)))
        if before is None or not self._automatic():
            return False
        moving = self.moving.setdefault((path, len(shape)), set())
        new = {i for i, (a, b) in enumerate(zip(before, shape)) if a != b} - moving
        moving |= new
        self.from_zero |= any(before[i] in (0, 1) for i in new)
        return bool(new)

    def writes_number(self, path: str, kind: type, value: Any) -> bool:
        """A region writes a number (None: a symbol) where it read one. True if it becomes a
        symbol by that."""
        before = self.numbers.get(path)
        if type(before) is not kind or before == value or not self._automatic():
            return False
        if path in self.changing or path in self.constant:
            return False
        self.changing.add(path)
        return True

    def refused(self, paths: set[str]) -> None:
        """The backend cannot take these numbers as symbols: first floats are handed to it as
        data, of which it knows nothing, and if that does not help they are constants."""
        if self.floats_are_data:
            self.constant.update(paths)
        self.floats_are_data = True

    def is_for(self, module: Any) -> bool:
        """Whether this is compiled for one module alone, and it is `module`."""
        return self.bound is not None and self.bound() is module

    def learn(self, other: History) -> None:
        """Take over what another memory of the same place has seen, where this one has not."""
        for path, number in other.numbers.items():
            self.numbers.setdefault(path, number)
        for place, shape in other.sizes.items():
            self.sizes.setdefault(place, shape)
        for key, moving in other.moving.items():
            self.moving.setdefault(key, set()).update(moving)
        self.changing |= other.changing
        self.constant |= other.constant
        self.floats_are_data |= other.floats_are_data

    def replaces_object(self, path: str) -> bool:
        """A region puts another object where it read one. True if it took it to stay the same."""
        if path not in self.objects or self.objects[path] is _MANY:
            return False
        self.objects[path] = _MANY
        return True

    def _automatic(self) -> bool:
        return self.dynamic is None and config.automatic_dynamic and config.assume_static

    def _listed(self, path: str) -> bool:
        """Whether config.dynamic_sources names the place, as text or as a regular expression."""
        if not config.dynamic_sources:
            return False
        return any(
            path == entry or _matches(entry, path)
            for entry in map(str.strip, config.dynamic_sources.split(","))
            if entry
        )

    def steady(self, path: str, token: str) -> bool:
        """Whether an iterator has always stood at the same place when the point was reached."""
        if self.places.setdefault(path, token) == token:
            return True
        self.places[path] = ""  # it moves: never steady again
        return False

    def is_restless(self, path: str, form: Any, most: int) -> bool:
        """Whether what a point inside of a function finds at `path` has come in more than `most`
        forms, such as the lengths of a list to which each turn of a loop adds: another variant for
        another form would not be the last one."""
        if not self.resumed:
            return False
        seen = self.forms.setdefault(path, set())
        seen.add(form)
        return len(seen) > most

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


def _order(strides: tuple[int, ...]) -> list[int]:
    return sorted(range(len(strides)), key=lambda i: -strides[i])


def _matches(pattern: str, path: str) -> bool:
    try:
        return re.fullmatch(pattern, path) is not None
    except re.error:
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
