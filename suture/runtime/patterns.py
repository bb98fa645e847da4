"""Class patterns on real values, as MATCH_CLASS does them."""

from __future__ import annotations

from typing import Any

from suture._core import type_name

_SELF_MATCHING = (
    bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple
)  # fmt: skip


def match_class(
    subject: Any, cls: Any, count: int, names: tuple[str, ...]
) -> tuple[Any, ...] | None:
    """The attributes that the pattern `cls(count positions, names)` binds; None if it does not
    match."""
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, cls):
        return None
    found: list[Any] = []
    if count:
        positional = _positional(cls, count)
        if positional is None:
            found.append(subject)
        else:
            names = (*positional, *names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            text = f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}"
            raise TypeError(text)
        seen.add(name)
        try:
            found.append(getattr(subject, name))
        except AttributeError:
            return None
    return tuple(found)


def _positional(cls: type, count: int) -> tuple[str, ...] | None:
    """The attributes of positional patterns; None if the one pattern is the object itself."""
    name = cls.__name__
    allowed: Any = getattr(cls, "__match_args__", ())
    if type(allowed) is not tuple:
        raise TypeError(f"{name}.__match_args__ must be a tuple (got {type_name(type(allowed))})")
    whole = not hasattr(cls, "__match_args__") and issubclass(cls, _SELF_MATCHING)
    most = 1 if whole else len(allowed)
    if count > most:
        plural = "" if most == 1 else "s"
        raise TypeError(f"{name}() accepts {most} positional sub-pattern{plural} ({count} given)")
    for one in allowed[:count]:
        if type(one) is not str:
            kind = type_name(type(one))
            raise TypeError(f"__match_args__ elements must be strings (got {kind})")
    return None if whole else tuple(allowed[:count])
