"""Imports that are calls: of modules that are loaded already, as the statement takes them."""

from __future__ import annotations

import builtins
import importlib

from suture.breaks import Break, python
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.outside.namespaces import import_name

_PARAMETERS = ("name", "globals", "locals", "fromlist", "level")


@handles(importlib.import_module)
def _import_module(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = _known(trace, args[0] if args else kwargs.get("name"))
    if not isinstance(name, str) or name.startswith("."):
        raise Break(python.IMPORT, module=str(name))
    if len(args) > 2 or not set(kwargs) <= {"name", "package"} or (args and "name" in kwargs):
        raise Break(python.IMPORT, module=name)  # Python says what is wrong
    return import_name(trace, name, ("*",), 0)


@handles(builtins.__import__)
def _import(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    given = {**dict(zip(_PARAMETERS, args, strict=False)), **kwargs}
    name = _known(trace, given.get("name"))
    level = _known(trace, given["level"]) if "level" in given else 0
    names = _known(trace, given["fromlist"]) if "fromlist" in given else ()
    odd = len(given) < len(args) + len(kwargs) or not set(given) <= set(_PARAMETERS)
    if odd or level != 0 or not isinstance(name, str) or not isinstance(names, tuple):
        raise Break(python.IMPORT, module=str(name))
    return import_name(trace, name, names, 0)


def _known(trace: Trace, value: Value | None) -> object:
    """An argument, if it is a constant."""
    if value is None or not value.is_constant():
        return None
    return abstract.constant_value(trace, value)
