"""What code reads: the globals that it names, what it takes from modules at once, and what it
imports.

All of it is looked up in the objects that are there now, without running any of the program. What
may be reached through them is another question, which `plain_functions` and `real_reach` answer,
each for its own purpose.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from suture.bytecode import Named, named
from suture.bytecode.language import is_lazy_import
from suture.compiler.objects.lookup import MISSING, UNTOLD, dict_of, static_attribute

_known: dict[int, tuple[types.CodeType, Named]] = {}
_KEPT = 2_048


class Read(NamedTuple):
    """One look-up of a name, in a module or, if that is None, in the globals of code. `table`: the
    dict of the module, or the globals. `value`: MISSING if nothing is there, UNTOLD if only code
    could tell."""

    module: types.ModuleType | None
    table: dict[str, Any]
    name: str
    value: Any


def names_of(code: types.CodeType) -> Named:
    """What a code object names, read once."""
    known = _known.get(id(code))
    if known is None:
        if len(_known) >= _KEPT:
            _known.clear()
        known = _known[id(code)] = code, named(code)
    return known[1]


def reads(namespace: dict[str, Any], load: tuple[str, ...]) -> Iterator[Read]:
    """The look-ups of a global and of the attributes that code takes from it at once, as long as
    they are taken from modules."""
    name, *attributes = load
    value: Any = namespace.get(name, MISSING)
    value = UNTOLD if is_lazy_import(value) else value
    yield Read(None, namespace, name, value)
    for attribute in attributes:
        if not issubclass(type(value), types.ModuleType):
            return
        read = _read(value, attribute)
        value = read.value
        yield read


def imported(namespace: dict[str, Any], name: str, level: int) -> tuple[str, Any]:
    """The full name of what an import in code with these globals names, and the module; None if
    it is not loaded yet."""
    if level:
        package = str(namespace.get("__package__") or "?")
        name = importlib.util.resolve_name("." * level + name, package)
    return name, sys.modules.get(name)


def taken(full_name: str, module: types.ModuleType, name: str) -> Read:
    """What `from module import name` gives."""
    read = _read(module, name)
    if read.value is MISSING:
        return read._replace(value=sys.modules.get(f"{full_name}.{name}", MISSING))
    return read


def cell_contents(cell: types.CellType) -> Any:
    """What a cell holds; None if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _read(module: types.ModuleType, name: str) -> Read:
    table = dict_of(module) or {}
    found = static_attribute(module, name)
    makes = type(module) is not types.ModuleType or "__getattr__" in table
    if is_lazy_import(found) or (found is MISSING and makes):
        found = UNTOLD
    return Read(module, table, name, found)
