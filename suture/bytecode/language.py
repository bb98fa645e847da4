"""What differs between Pythons above the instructions: what descriptors do, and what errors say."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from .code import EXIT_FIRST

# A property below a classmethod is a property of the class; from 3.13 on it is just called.
CLASSMETHOD_ASKS = sys.version_info < (3, 13)


class _Counted:
    """Iterable; notices that its length is asked for."""

    asked = False

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        self.asked = True
        return 0


def _tuple_asks() -> bool:
    counted = _Counted()
    tuple(counted)
    return counted.asked


# `tuple(a)` and `f(*a)` ask `a` for its length first, as `list(a)` does; from 3.14 on they do not.
TUPLE_ASKS = _tuple_asks()


def _close_keeps_variables() -> bool:
    class Held:
        def __del__(self) -> None:
            freed.append(True)

    def holding() -> Iterator[None]:
        held = Held()
        yield
        del held

    freed: list[bool] = []
    made = holding()
    next(made)
    made.close()  # type: ignore[attr-defined]
    return not freed


# `close()` of a generator that waits outside of any block leaves its variables to it; some releases
# of 3.12 do that, where others free them at once.
CLOSE_KEEPS_VARIABLES = _close_keeps_variables()



def _frees_last_first() -> bool:
    class Held:
        def __init__(self, number: int) -> None:
            self.number = number

        def __del__(self) -> None:
            freed.append(self.number)

    def holding() -> None:
        first, second = Held(1), Held(2)  # noqa: F841

    freed: list[int] = []
    holding()
    return freed == [2, 1]


# A frame that ends frees its variables from the last one to the first, from 3.14 on; before, from
# the first one to the last.
FREES_LAST_FIRST = _frees_last_first()

# An error about a key without a hash says what it was to be a key of.
_KEYS_ARE_NAMED = sys.hexversion >= 0x030E0000


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
    if EXIT_FIRST:
        return _full_name(kind)
    from suture._core import type_name

    return type_name(kind)


def unhashable(kind: type, text: str, role: str) -> str | None:
    """What is said of an instance of `kind` that was to have this role ("dict key", "set element"),
    where hashing it raised a TypeError with this text; None where Pythons say just that."""
    if not _KEYS_ARE_NAMED:
        return None
    return f"cannot use '{_full_name(kind)}' as a {role} ({text})"


def _full_name(kind: type) -> str:
    plain = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"
