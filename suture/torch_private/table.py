"""Private names of torch: declared with the releases they were seen in, looked up when first used.

A topic file makes one `Topic` of its names and hands attribute access on to it:

    NAMES = Topic(__name__, "state that guards read", "2.11-2.15", {
        "set_grad_enabled": "torch._C._set_grad_enabled",
        "newer": ("torch._C._newer", "2.13-2.15"),
    })

    def __getattr__(name: str) -> Any:
        return NAMES.get(name)

Declaring imports nothing. The first use of a name imports what its path says, and keeps the object
in the topic's module. A name that this torch does not have becomes an absent class (`is_missing`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TOPICS: list[Topic] = []


class MissingName(Exception):
    """This torch lacks a private name that a feature needs."""

    def __init__(self, path: str) -> None:
        super().__init__(f"this torch has no {path}")
        self.path = path


class _Absent(type):
    """The class of what stands for a name that is gone.

    It is an exception class, so that it can be used in `isinstance`, `except`, tables of handlers
    and lists of bases, and fits nothing there. Calling it, or reading an attribute of it, raises.
    """

    path: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise MissingName(cls.path)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # questions of Python's own, such as abstractness
            raise AttributeError(name)
        raise MissingName(cls.path)

    def __bool__(cls) -> bool:
        return False


def absent(path: str) -> Any:
    """What stands for a name that this torch does not have."""
    return _Absent(path.rpartition(".")[2], (Exception,), {"path": path})


def is_missing(found: Any) -> bool:
    """Whether a looked-up name is one that this torch does not have."""
    return isinstance(found, _Absent)


def resolve(path: str) -> Any:
    """The object at a dotted path, with the modules on the way imported; AttributeError or
    ImportError if there is none."""
    first, *rest = path.split(".")
    found, reached = importlib.import_module(first), first
    for part in rest:
        reached += "." + part
        try:
            found = getattr(found, part)
        except AttributeError:
            # only modules have parts that appear when they are imported
            if not hasattr(found, "__path__"):
                raise
            found = importlib.import_module(reached)
    return found


@dataclass(frozen=True)
class Name:
    """One declared name: ours, torch's path, the releases it was seen in ("2.11-2.15")."""

    ours: str
    path: str
    seen: str

    def expected(self, release: tuple[int, int]) -> bool:
        """Whether a torch of that release should have it."""
        low, _, high = self.seen.partition("-")
        return _release(low) <= release <= _release(high or low)


def _release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


class Topic:
    """The private names that one file of this room declares."""

    def __init__(
        self, module: str, feature: str, seen: str, names: dict[str, str | tuple[str, str]]
    ) -> None:
        self.module = module
        self.feature = feature  # what does not work where a name is missing
        self.names: dict[str, Name] = {}
        for ours, told in names.items():
            path, releases = (told, seen) if isinstance(told, str) else told
            self.names[ours] = Name(ours, path, releases)
        TOPICS.append(self)

    def get(self, ours: str) -> Any:
        """The object of that name, or what stands for it (`absent`); for a module's __getattr__."""
        name = self.names.get(ours)
        if name is None:
            raise AttributeError(f"module {self.module!r} has no attribute {ours!r}")
        held = vars(sys.modules[self.module])
        if ours in held:
            return held[ours]
        try:
            found = resolve(name.path)
        except Exception:  # a module of torch may fail to be imported in its own way
            found = absent(name.path)
        held[ours] = found
        return found

    def missing(self) -> Iterator[Name]:
        """The names that this torch does not have. Looks all of them up."""
        for name in self.names.values():
            if is_missing(self.get(name.ours)):
                yield name


def loaded(module: str) -> Any:
    """A module of torch, if something has imported it already; else None."""
    return sys.modules.get(module)
