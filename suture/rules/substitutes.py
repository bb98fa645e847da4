"""Substitutes: a Python function that is traced in place of one that cannot be.

`substitute(original)` files one; suture's own stand in `polyfills/`, one file per module, and
are imported when an object of that module is asked about for the first time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from suture.rules.errors import ConflictingMarks
from suture.rules.verdict import place_of
from suture.rules.wrapped import canonical, home

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Substitute:
    """`replacement` is traced where `original` is called."""

    original: Any
    replacement: Callable[..., Any]
    name: str
    where: str


# Module of an original -> files of polyfills. C helpers of a module count for the module.
FILES: dict[str, tuple[str, ...]] = {
    "builtins": ("builtins",),
    "itertools": ("itertools", "combinatorics"),
    "functools": ("functools",),
    "_functools": ("functools",),
    "operator": ("operator",),
    "_operator": ("operator",),
    "heapq": ("heapq",),
    "_heapq": ("heapq",),
    "bisect": ("bisect",),
    "_bisect": ("bisect",),
    "math": ("math",),
    "copy": ("copy",),
    "collections": ("collections",),
    "_collections": ("collections",),
}

_table: dict[int, Substitute] = {}
_loaded: set[str] = set()


def substitute(original: Any) -> Callable[[F], F]:
    """Decorator: file the function as the substitute of `original`."""

    def file(replacement: F) -> F:
        add(original, replacement)
        return replacement

    return file


def add(original: Any, replacement: Callable[..., Any]) -> None:
    """File a substitute. Two different ones for one object are an error."""
    key = canonical(original)
    name = f"{home(key) or 'builtins'}.{getattr(key, '__qualname__', repr(key))}"
    found = _table.get(id(key))
    where = place_of(replacement.__code__)
    if found is not None and found.replacement is not replacement:
        raise ConflictingMarks(name, "substitute", where, "substitute", found.where)
    _table[id(key)] = Substitute(key, replacement, name, where)


def substitute_of(obj: Any) -> Substitute | None:
    """The substitute filed for `obj`, or None."""
    module = home(obj)
    for file in FILES.get(module, ()):
        if file not in _loaded:
            load(file)
    return _table.get(id(obj))


def load(file: str) -> None:
    """Import one file of polyfills, if there is one."""
    _loaded.add(file)
    importlib.import_module(f"suture.rules.polyfills.{file}")


def all_substitutes() -> list[Substitute]:
    """Every substitute, suture's own polyfills loaded first."""
    for file in sorted({file for files in FILES.values() for file in files} - _loaded):
        load(file)
    return list(_table.values())
