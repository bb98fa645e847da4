"""References to objects that another process has too: guards know them, or they have a name."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

from suture.runtime import operations
from suture.runtime.store.fingerprints import fingerprint, globals_name, module_named
from suture.runtime.store.literals import Unstorable, decode, encode
from suture.runtime.store.names import HOLDERS, name_of, named
from suture.runtime.store.references import Kind, Reading, Unfit, Writing


def _write_guarded(to: Writing, value: Any) -> list[Any] | None:
    return [to.known[id(value)]] if id(value) in to.known else None


_GUARDED = Kind("guard", _write_guarded, lambda of, guard: of.guarded[guard])


def _write_constant(to: Writing, value: Any) -> list[Any] | None:
    try:
        return [encode(value)]
    except Unstorable:
        return None


_CONSTANT = Kind("value", _write_constant, lambda of, data: decode(data))


def _write_key(to: Writing, value: Any) -> list[Any] | None:
    return [to.number(value)] if id(value) in to.keys else None


_KEY = Kind("number", _write_key, lambda of, number: of.objects[number])


def _write_held(to: Writing, value: Any) -> list[Any] | None:
    return [*to.held[id(value)], to.number(value)] if id(value) in to.held else None


def _read_held(of: Reading, guard: int, attribute: str, number: int) -> Any:
    owner = of.guarded[guard]
    if attribute not in HOLDERS.get(type(owner), ()):
        raise ValueError(f"nothing is found by {attribute!r}")
    return of.bind(number, getattr(owner, attribute))


_HELD = Kind("held", _write_held, _read_held)


def _write_globals(to: Writing, value: Any) -> list[Any] | None:
    home = globals_name(value) if type(value) is dict else None
    return None if home is None else [home, to.number(value)]


def _read_globals(of: Reading, name: str, number: int) -> Any:
    home = module_named(name)
    if home is None:
        raise LookupError(f"the module {name} is not imported")
    return of.bind(number, vars(home))


_GLOBALS = Kind("globals", _write_globals, _read_globals)


def _write_named(to: Writing, value: Any) -> list[Any] | None:
    found = name_of(value) or _name_that_it_does_not_know(value)
    if found is None:
        return None
    if found[0].startswith("suture.compiler"):
        raise Unstorable(f"it calls {found[0]}.{found[1]}, which is part of the compiler")
    return [found, to.number(value), fingerprint(value)]


def _name_that_it_does_not_know(value: Any) -> list[str] | None:
    """Names of objects of ours, and of Python's, that do not know their own."""
    if value is sys.modules:
        return ["sys", "modules"]
    if value is getattr(os.environ, "_data", None):  # what os.environ reads and writes
        return ["os", "environ._data"]
    return ["suture.runtime.operations", "STOP"] if value is operations.STOP else None


def _read_named(of: Reading, name: list[str], number: int, known: Any) -> Any:
    found = named(*name)
    if fingerprint(found) != known:
        raise Unfit(f"{name[0]}.{name[1]} is not what it was")
    return of.bind(number, found)


_NAMED = Kind("name", _write_named, _read_named)


def _write_code(to: Writing, value: Any) -> list[Any] | None:
    return [to.code(value)] if type(value) is types.CodeType else None


_CODE = Kind("code", _write_code, lambda of, code: of.code(code))


FOUND = (_GUARDED, _CONSTANT, _KEY, _HELD, _CODE, _GLOBALS, _NAMED)
