"""Substitutes: a Python function that is traced in place of one that cannot be.

`substitute(original)` files one; suture's own are in `polyfills/` and are imported when an
object of their module is asked about for the first time: those of itertools in `itertools.py` and
in the files whose names begin with `itertools_`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

from suture.rules import polyfills
from suture.rules.errors import ConflictingMarks
from suture.rules.verdict import location_of
from suture.rules.wrapped import canonical, home

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Substitute:
    """`replacement` is traced where `original` is called. `whole`: where it breaks, Python calls
    the original and gets all of it at once."""

    original: Any
    replacement: Callable[..., Any]
    name: str
    where: str
    whole: bool = False


_table: dict[int, Substitute] = {}
_loaded: set[str] = set()
_whole: set[CodeType] = set()


def substitute(original: Any, *, whole: bool = False) -> Callable[[F], F]:
    """Decorator: file the function as the substitute of `original`."""

    def file(replacement: F) -> F:
        add(original, replacement, whole=whole)
        return replacement

    return file


def add(original: Any, replacement: Callable[..., Any], *, whole: bool = False) -> None:
    """File a substitute. Two different ones for one object are an error."""
    key = canonical(original)
    name = f"{home(key) or 'builtins'}.{getattr(key, '__qualname__', repr(key))}"
    found = _table.get(id(key))
    where = location_of(replacement.__code__)
    if found is not None and found.replacement is not replacement:
        raise ConflictingMarks(name, "substitute", where, "substitute", found.where)
    _table[id(key)] = Substitute(key, replacement, name, where, whole)
    if whole:
        _whole.add(replacement.__code__)


def breaks_as_a_whole(code: CodeType) -> bool:
    """Whether `code` is that of a substitute that Python replaces by the original at a break."""
    return code in _whole


def substitute_of(obj: Any) -> Substitute | None:
    """The substitute filed for `obj`, or None."""
    module = home(obj)
    if module not in _loaded:
        load(module)
    return _table.get(id(obj))


def load(module: str) -> None:
    """Import the polyfills for a module, if there are any. C helpers, such as _functools, count
    for the module that they help."""
    _loaded.add(module)
    for file in files().get(module.lstrip("_"), ()):
        importlib.import_module(f"{polyfills.__name__}.{file}")


@functools.cache
def files() -> dict[str, list[str]]:
    """The files of polyfills, by the module that they are for."""
    found: dict[str, list[str]] = {}
    for file in pkgutil.iter_modules(polyfills.__path__):
        found.setdefault(file.name.partition("_")[0], []).append(file.name)
    return found


def all_substitutes() -> list[Substitute]:
    """Every substitute, suture's own polyfills loaded first."""
    for module in files():
        load(module)
    return list(_table.values())
