"""Classes that a program makes anew in each call, as guards compare them: by what they are made of.

A `class` statement in a function gives another class each time it runs, with other functions in it,
but the code of these is the same. Two classes of one shape look up every name in the same place,
and find something of the same kind there.
"""

from __future__ import annotations

import sys
import types
import weakref
from dataclasses import dataclass
from typing import Any

from suture.runtime.predicates import is_literal

_CONTENTS = type.__dict__["__dict__"].__get__
_BY_TYPE_ITSELF = ("__dict__", "__weakref__")  # descriptors that `type` puts into each class


@dataclass(frozen=True, slots=True)
class Entry:
    """Reads what a class itself holds under a name; `part` is the function inside of that, such as
    `fget` of a property."""

    name: str
    part: str = ""

    @property
    def __name__(self) -> str:
        return f"entry {self.name}{'.' if self.part else ''}{self.part} of"

    def __call__(self, cls: Any) -> Any:
        held = _CONTENTS(cls)[self.name]
        return getattr(held, self.part) if self.part else held


class ClassShape:
    """Whether a class has this shape."""

    __slots__ = ("__name__", "shape")

    def __init__(self, shape: Any) -> None:
        self.shape = shape
        self.__name__ = f"is like {shape[1]}"

    def __call__(self, cls: Any) -> bool:
        return bool(shape_of(cls) == self.shape)


class IsNot:
    """Whether a class is another one than this."""

    __slots__ = ("__name__", "cls")

    def __init__(self, cls: type) -> None:
        self.cls = weakref.ref(cls)
        self.__name__ = f"is not {cls.__qualname__}"

    def __call__(self, cls: Any) -> bool:
        return self.cls() is not cls


def is_named(cls: type) -> bool:
    """Whether a class is found in its module under its name: such a one stays."""
    home = _CONTENTS(cls).get("__module__")
    module = sys.modules.get(home) if type(home) is str else None
    return module is not None and vars(module).get(cls.__qualname__) is cls


def shape_of(cls: Any) -> tuple[Any, ...] | None:
    """What a class is made of; None for one that is not plain enough: with a metaclass or slots,
    derived from a builtin container, from torch, or with entries that do something when read."""
    if type(cls) is not type or cls.__mro__ is None:
        return None
    bases = []
    for base in cls.__bases__:
        found = _base(base)
        if found is None:
            return None
        bases.append(found)
    entries = []
    for name, held in _CONTENTS(cls).items():
        form = _form(cls, name, held)
        if form is None:
            return None
        entries.append((name, form))
    return (cls.__name__, cls.__qualname__, tuple(bases), tuple(entries))


def _base(base: type) -> Any:
    """Of a base: itself if it stays, else its shape."""
    if base is object:
        return base
    if not base.__flags__ & (1 << 9):  # one in C
        return base if issubclass(base, BaseException) else None
    if not is_named(base):
        return shape_of(base)
    plain = all(type(one) is type for one in base.__mro__)
    in_c = [one for one in base.__mro__ if not one.__flags__ & (1 << 9)]
    if not plain or str(base.__module__).partition(".")[0] in ("torch", "typing", "abc", "enum"):
        return None
    known = all(one is object or issubclass(one, BaseException) for one in in_c)
    return base if known and not any(_is_torchs(one) for one in base.__mro__) else None


def _is_torchs(cls: type) -> bool:
    return str(cls.__module__).partition(".")[0] == "torch"


def _form(cls: type, name: Any, held: Any) -> Any:
    """What is compared of an entry; None if the entry cannot be taken."""
    if type(name) is not str:
        return None
    kind = type(held)
    if name in _BY_TYPE_ITSELF and kind is types.GetSetDescriptorType:
        return kind
    if name == "__annotations__" and kind is dict:
        return kind
    if is_literal(held):
        return kind, repr(held)
    functions = functions_of(held)
    if functions is not None:
        forms = tuple(None if f is None else _function(cls, f) for f in functions.values())
        return None if False in forms else (kind, forms)
    dunder = name.startswith("__") and name.endswith("__")
    asks = any(hasattr(kind, one) for one in ("__get__", "__set__", "__delete__", "__set_name__"))
    if (
        dunder
        or asks
        or issubclass(kind, type)
        or (kind.__flags__ & (1 << 9) and not is_named(kind))
    ):
        return None
    return kind


def functions_of(held: Any) -> dict[str, Any] | None:
    """The functions of an entry, by the attribute that leads to them; None if it is of another
    kind."""
    kind = type(held)
    if kind is types.FunctionType:
        return {"": held}
    if kind in (staticmethod, classmethod):
        return {"__func__": held.__func__}
    if kind is property:
        return {name: getattr(held, name) for name in ("fget", "fset", "fdel")}
    return None


def _function(cls: type, fn: Any) -> Any:
    """What is compared of a function that the class's body defines; False for any other."""
    if type(fn) is not types.FunctionType or fn.__dict__:
        return False
    if not fn.__code__.co_qualname.startswith(f"{cls.__qualname__}."):
        return False
    counts = (len(fn.__defaults__ or ()), tuple(sorted(fn.__kwdefaults__ or ())))
    return (fn.__code__, id(fn.__globals__), counts, len(fn.__closure__ or ()))
