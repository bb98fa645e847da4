"""Facts about real classes and instances."""

from __future__ import annotations

import gc
import types
from typing import Any, cast

from suture.compiler.objects import DELETED

MISSING = object()
UNTOLD = object()

# What this Python says where {}, a class without a dict, is to have a new attribute {}.
try:
    object.__setattr__(object(), "name", None)
except AttributeError as error:
    no_new_attribute = str(error).replace("'object'", "'{}'").replace("'name'", "'{}'")


def has_dict(cls: type) -> bool:
    """Whether instances of a class have attributes other than its slots."""
    return cls.__dictoffset__ != 0


def hides_dict(cls: type) -> bool:
    """Whether instances have a dict that nobody can read: that of a class in C which keeps it for
    itself, such as asyncio's futures."""
    first = next((b for b in reversed(_MRO(cls)) if b.__dictoffset__), None)
    return first is not None and "__dict__" not in _CONTENTS(first)


def really_has(value: object, name: str, slot: bool) -> bool:
    """Whether a real object holds the attribute itself, in a slot or in its dict."""
    if slot:
        return hasattr(value, name)
    try:
        return name in object.__getattribute__(value, "__dict__")
    except AttributeError:
        return False


def held_by(value: object) -> list[Any]:
    """What the garbage collector is told that an object holds. Of a tuple that is what is in it:
    code in C leaves places of its own tuples empty (an exhausted part of `zip_longest`), where
    reading them ends the process."""
    found: list[Any] = []
    for part in gc.get_referents(value):
        found += gc.get_referents(part) if type(part) is tuple else (part,)
    return found


def holds_dict(value: object, found: dict[Any, Any]) -> bool:
    """Whether a real object has this very dict for its attributes, whatever its class makes of
    `__dict__`."""
    if any(held is found for held in gc.get_referents(value)):
        return True
    # Python 3.13 keeps attributes in the object, beside a dict that its collector does not tell.
    first = next((b for b in reversed(_MRO(type(value))) if b.__dictoffset__), None)
    getter = None if first is None else _CONTENTS(first).get("__dict__")
    return isinstance(getter, _IN_C) and getter.__get__(value) is found


def qualname_of(cls: type) -> str:
    """`cls.__qualname__`, whatever its metaclass makes of attributes."""
    return str(_QUALNAME(cls))


# As type itself has them, whatever a metaclass makes of attributes.
_IN_C = (types.GetSetDescriptorType, types.MemberDescriptorType)
_DICT_OFFSET = type.__dict__["__dictoffset__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__
_MRO = type.__dict__["__mro__"].__get__
_CONTENTS = type.__dict__["__dict__"].__get__
_TEXTS = {str}


def find_in_mro(cls: type, name: str) -> Any:
    """What `cls` or a base defines under `name`, unbound; MISSING if nothing."""
    for base in _MRO(cls) or ():  # none yet while the class is being made
        found = _CONTENTS(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def holder_of(cls: type, name: str, raw: object = MISSING) -> type | None:
    """The class of the order of inheritance that defines `name`, or the first one that defines it
    as `raw`."""
    for base in _MRO(cls) or ():
        held = _CONTENTS(base).get(name, MISSING)
        if held is not MISSING and (raw is MISSING or held is raw):
            return cast(type, base)
    return None


def dict_of(value: Any) -> dict[Any, Any] | None:
    """The dict that holds a real object's attributes, whatever its class makes of `__dict__`; None
    without one. Runs no code of the program."""
    first = next((b for b in reversed(_MRO(type(value)) or ()) if _DICT_OFFSET(b)), None)
    getter = None if first is None else _CONTENTS(first).get("__dict__")
    if not isinstance(getter, _IN_C):
        return None
    try:
        found = getter.__get__(value)
    except (AttributeError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def has_plain_keys(table: Any) -> bool:
    """Whether all keys of a namespace are texts: with another one a lookup may run its `__eq__`."""
    kinds = set(map(type, table))
    return kinds == _TEXTS or all(issubclass(kind, str) for kind in kinds)


def static_attribute(value: Any, name: str) -> Any:
    """What an object or its class holds under `name`, unbound; MISSING if nothing, UNTOLD if
    only code of the program could tell. Runs none of it."""
    cls = type(value)
    tables: list[Any] = [_CONTENTS(base) for base in _MRO(cls) or ()]
    if issubclass(cls, type):
        own: list[Any] = [_CONTENTS(base) for base in _MRO(value) or ()]
    else:
        held = dict_of(value)
        own = [] if held is None else [held]
    for table in (*own, *tables):
        if not has_plain_keys(table):
            return UNTOLD
        if name in table:
            return table[name]
    return MISSING


def answers_in_c(obj: Any, name: str) -> bool:
    """Whether the class of a real object, in C, gives an attribute that neither it nor the object
    holds: `traps` of decimal.Context."""
    value = getattr(obj, "value", None)
    own = find_in_mro(type(value), "__getattribute__")
    if value is None or getattr(own, "__objclass__", object) is object:
        return False
    try:
        own(value, name)
    except AttributeError:
        return False
    return name not in getattr(obj, "attrs", ())


def is_builtin_method(method: object, name: str) -> bool:
    """Whether this is a builtin type's own `name`, and not another method that stands in for it:
    `__setattr__ = dict.__setitem__`."""
    return type(method) is types.WrapperDescriptorType and method.__name__ == name


def is_buffer(value: Any) -> bool:
    """Whether a real object gives its bytes to C. Runs no code of the program: a class that does
    so in Python (from 3.12 on) counts as one."""
    if value is None or find_in_mro(type(value), "__buffer__") is not MISSING:
        return value is not None
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def put_attribute(attrs: dict[str, Any], name: str, value: object) -> None:
    """Set an attribute: one that is there keeps its place, a deleted one comes last."""
    if attrs.get(name) is DELETED:
        del attrs[name]
    attrs[name] = value


def is_data_descriptor(raw: object) -> bool:
    kind = type(raw)
    return hasattr(kind, "__set__") or hasattr(kind, "__delete__")


def is_slot(raw: object) -> bool:
    """Whether the descriptor is one of a class's own `__slots__`."""
    return isinstance(raw, types.MemberDescriptorType) and "__slots__" in raw.__objclass__.__dict__


def reads_itself(cls: type) -> bool:
    """Whether a class says itself what an item of its objects is."""
    return isinstance(getattr(cls, "__getitem__", None), types.FunctionType)
