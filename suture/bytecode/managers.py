"""What `with` says of an object that it cannot enter: the words differ between Pythons."""

from __future__ import annotations

from .code import EXIT_FIRST


def not_a_manager(kind: type, asynchronous: bool = False) -> str | None:
    """The message for an instance of a class that lacks a method of managers; None if it lacks
    none."""
    plain, waiting = ("__enter__", "__exit__"), ("__aenter__", "__aexit__")
    names, others = (waiting, plain) if asynchronous else (plain, waiting)
    missing = next((name for name in _sought(names) if not hasattr(kind, name)), None)
    if missing is None:
        return None
    protocol, other = "context manager protocol", "asynchronous context manager protocol"
    use = "async with"
    if asynchronous:
        protocol, other, use = other, protocol, "with"
    text = f"'{_name(kind)}' object does not support the {protocol}"
    if EXIT_FIRST or missing == names[1]:
        text += f" (missed {missing} method)"
    if EXIT_FIRST and all(hasattr(kind, name) for name in others):
        text += f" but it supports the {other}. Did you mean to use '{use}'?"
    return text


def _sought(names: tuple[str, str]) -> tuple[str, str]:
    return (names[1], names[0]) if EXIT_FIRST else names


def _name(kind: type) -> str:
    """The class as the message has it: with its module from 3.14 on, as its C name before."""
    if EXIT_FIRST and kind.__module__ not in ("builtins", "__main__"):
        return f"{kind.__module__}.{kind.__qualname__}"
    if EXIT_FIRST:
        return kind.__qualname__
    from suture._core import type_name

    return type_name(kind)
