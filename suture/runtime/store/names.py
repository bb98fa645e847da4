"""Objects that have a name by which every process finds them."""

from __future__ import annotations

import enum
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from suture.runtime import iterators

# Objects that are made of others for good: what they are made of is found through them.
HOLDERS: dict[type, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    types.MethodType: ("__func__", "__self__"),
}
_INSIDE = ("fget", "fset", "__wrapped__")
_IMPORTED = ("torch", "suture")  # modules that may be imported to find a name


def parts_of(value: Any) -> list[Any]:
    """What an object is made of for good, by which two of them may have to do with each other: the
    cells of a function, what a property or a bound method is made of."""
    if type(value) is types.FunctionType:
        return list(value.__closure__ or ())
    return [getattr(value, attribute) for attribute in HOLDERS.get(type(value), ())]


def name_of(value: Any) -> list[str] | None:
    """[module, dotted name] by which `value` is found again, or None."""
    for home, dotted in _candidates(value):
        try:
            if type(home) is str and "<" not in dotted and named(home, dotted) is value:
                return [home, dotted]
        except LookupError:
            continue
    return None


def _candidates(value: Any) -> Iterator[tuple[Any, str]]:
    """Names under which an object may be found."""
    home = getattr(value, "__module__", None)
    for attribute in ("__qualname__", "__name__"):
        dotted = getattr(value, attribute, None)
        if type(dotted) is str:
            yield home, dotted
            if type(value) is types.FunctionType:  # of a property, or below a decorator
                yield from ((home, f"{dotted}.{inner}") for inner in _INSIDE)
    if isinstance(value, enum.Enum):
        yield type(value).__module__, f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, type):
        yield home, "__class__"  # of a module that has a class of its own
    if isinstance(value, type) and home == "builtins":
        yield from (("types", name) for name, one in vars(types).items() if one is value)
    for name, kind in iterators.NAMES.items():
        if kind is value:
            yield iterators.__name__, name
    owner = getattr(value, "__objclass__", None)  # of a descriptor
    if owner is None and type(value) is types.BuiltinFunctionType:
        owner = value.__self__  # a class whose __new__ this is
    if isinstance(owner, type):
        yield owner.__module__, f"{owner.__qualname__}.{value.__name__}"
    if type(value).__module__.partition(".")[0] in _IMPORTED:  # the one object of a class of torch
        home = type(value).__module__
        space = getattr(sys.modules.get(home), "__dict__", {})
        for name in [name for name, one in list(space.items()) if one is value]:
            yield home, name


def named(home: str, dotted: str) -> Any:
    """The object of that name; LookupError if there is none. Only torch and suture are imported
    for it: importing runs code, and a module of the program is there if the program needs it."""
    at: Any = sys.modules.get(home)
    try:
        if at is None and home.partition(".")[0] in _IMPORTED:
            at = _imported(home)
        if at is None:
            raise LookupError(f"the module {home} is not imported")
        for part in dotted.split("."):
            space = getattr(at, "__dict__", {})
            at = space[part] if part in space else getattr(at, part)
            if type(at) in (staticmethod, classmethod):
                at = at.__func__  # the function that has this name
    except (AttributeError, ImportError, TypeError) as error:
        raise LookupError(f"there is no {home}.{dotted}") from error
    return at


def _imported(home: str) -> Any:
    """A module, or a part of a module in C that has no file of its own."""
    try:
        return importlib.import_module(home)
    except ImportError:
        parent, _, last = home.rpartition(".")
        return getattr(_imported(parent), last) if parent else None
